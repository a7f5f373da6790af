// Collections and the built-in ones of each profile. Copies of a collection share one Contents
// object until one of them is changed; the count of owners is atomic, so copies may be made and
// destroyed on any thread, and a single collection is changed by one thread. Compiling the patterns
// of the built-in collections is slow, so they are made once for each profile and copied. Setters
// throw UsageError and leave the collection as it was.

#include "cupel/core/collection.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <mutex>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"

namespace cupel {

Collection::Collection(std::string name) : name_(std::move(name)) {
  if (name_.empty()) throw UsageError("A collection must have a name");
}

const Collection::Contents& Collection::nothing() noexcept {
  // Never destroyed: a static hook uses it while it closes.
  static const Contents& contents = *new Contents;
  return contents;
}

Collection::SharedContents::SharedContents(const SharedContents& other) {
  if (other.counted_ == nullptr) return;
  if (other.counted_->is_shareable) {
    counted_ = other.counted_;
    counted_->owners.fetch_add(1, std::memory_order_relaxed);
  } else {
    counted_ = new Counted{.contents = other.counted_->contents};
  }
}

Collection::SharedContents::~SharedContents() {
  if (counted_ != nullptr && counted_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete counted_;
}

Collection::Contents& Collection::SharedContents::own() {
  if (counted_ == nullptr) {
    counted_ = new Counted;
  } else if (counted_->owners.load(std::memory_order_acquire) != 1) {
    SharedContents copy;
    copy.counted_ = new Counted{.contents = counted_->contents};
    *this = std::move(copy);
  }
  return counted_->contents;
}

Collection::Contents& Collection::SharedContents::own_for_ever() {
  Contents& contents = own();
  counted_->is_shareable = false;
  return contents;
}

Collection& Collection::include(const PatternList& patterns) {
  if (!patterns.empty()) mutable_contents().include_regex.add(patterns);
  return *this;
}

Collection& Collection::set_include_regex(PatternList patterns) {
  mutable_contents().include_regex = std::move(patterns);
  return *this;
}

Collection& Collection::add_tensor_name(std::string_view tensor) {
  mutable_contents().tensor_names.emplace(tensor);
  return *this;
}

Collection& Collection::set_tensor_names(std::set<std::string, std::less<>> names) {
  mutable_contents().tensor_names = std::move(names);
  return *this;
}

bool Collection::contains(std::string_view tensor) const {
  return tensor_names().contains(tensor) || include_regex().matches(tensor);
}

Collection& Collection::set_save_config(SaveConfig config) {
  config.validate();
  mutable_contents().save_config = std::move(config);
  return *this;
}

SaveConfig& Collection::mutable_save_config() {
  auto& config = contents_.own_for_ever().save_config;
  return config ? *config : config.emplace();
}

Collection& Collection::set_reduction_config(ReductionConfig config) {
  static_cast<void>(config.set());
  mutable_contents().reduction_config = std::move(config);
  return *this;
}

Collection& Collection::set_save_histogram(bool on) {
  if (on != save_histogram()) mutable_contents().save_histogram = on;
  return *this;
}

namespace {

struct Entry {
  const char* name;
  PatternList patterns;
};

Collections collections_of(const std::vector<Entry>& entries) {
  Collections result;
  for (const auto& [name, patterns] : entries)
    result.emplace(name, Collection(name).include(patterns));
  return result;
}

constexpr std::array<std::string_view, 5> kScalarCollections = {
    "losses", "metrics", "feature_importance", "average_shap", "sm_metrics"};

// Metrics of XGBoost that training makes larger are no losses: "auc", "ndcg@2", and "map@3-", whose
// minus at the end asks XGBoost for another treatment of groups without relevant rows.
constexpr const char* kXGBoostLoss =
    "^(?!.*-(auc|aucpr|map|ndcg|pre|ams|interval-regression-accuracy)(@[^-]*)?-?$)[^/]+-[^/]+$";

constexpr std::string_view kBetweenWords = "_-./ ";

Collections make_builtin_collections(Profile profile) {
  const char* const weights = "^(?!gradient).*weight";
  const char* const biases = "^(?!gradient).*bias";
  const char* const module_loss = "[Ll]oss_(?!input).*output";
  const char* const plain_loss = "(^|[/_.])[Ll]oss$";
  switch (profile) {
    case Profile::Generic:
      return collections_of({{"all", {}},
                             {"default", {}},
                             {"weights", "^(?!gradient)(?!.*[./_]grad$).*weight"},
                             {"biases", "^(?!gradient)(?!.*[./_]grad$).*bias"},
                             {"gradients", {"^gradient", "[./_]grad$"}},
                             {"losses", {module_loss, plain_loss}},
                             {"metrics", {}},
                             {"inputs", {}},
                             {"outputs", {}},
                             {"layers", {}},
                             {"predictions", {}},
                             {"labels", {}},
                             {"sm_metrics", {}}});
    case Profile::PyTorch:
      return collections_of({{"all", {}},
                             {"default", {}},
                             {"weights", weights},
                             {"biases", biases},
                             {"gradients", "^gradient"},
                             {"losses", {module_loss, plain_loss}}});
    case Profile::MXNet:
      return collections_of({{"all", {}},
                             {"default", {}},
                             {"weights", weights},
                             {"biases", biases},
                             {"gradients", "^gradient"},
                             {"losses", ".*loss._(?!input).*output"}});
    case Profile::TensorFlow:
      return collections_of({{"all", {}},
                             {"default", {}},
                             {"weights", {}},
                             {"biases", biases},
                             {"gradients", {}},
                             {"losses", "^(val_)?loss$"},
                             {"metrics", {}},
                             {"inputs", {}},
                             {"outputs", {}},
                             {"layers", {}},
                             {"optimizer_variables", {}},
                             {"sm_metrics", {}}});
    case Profile::XGBoost:
      return collections_of({{"all", {}},
                             {"default", {}},
                             {"losses", kXGBoostLoss},
                             {"metrics", "^[^/]+-[^/]+$"},
                             {"hyperparameters", "^hyperparameters/.*$"},
                             {"predictions", "^predictions$"},
                             {"labels", "^labels$"},
                             {"feature_importance", "^feature_importance/.*"},
                             {"average_shap", "^average_shap/.+(?<!/bias)$"},
                             {"full_shap", "^full_shap/.+(?<!/bias)$"},
                             {"trees", "^trees/.*"}});
  }
  throw UsageError("No such profile: " + std::to_string(static_cast<int>(profile)));
}

// The collections are made once for each profile, since compiling the patterns is slow.
const Collections& known_collections(Profile profile) {
  constexpr std::size_t kProfiles = 5;
  struct Known {
    std::once_flag made;
    Collections collections;
  };
  // Never destroyed: a static hook uses it while it closes.
  static auto& all = *new std::array<Known, kProfiles>;
  const auto number = static_cast<std::size_t>(profile);
  if (number >= kProfiles)
    throw UsageError("No such profile: " + std::to_string(static_cast<int>(profile)));
  Known& known = all[number];
  std::call_once(known.made, [&] { known.collections = make_builtin_collections(profile); });
  return known.collections;
}

}  // namespace

Collections builtin_collections(Profile profile) { return known_collections(profile); }

bool is_filled_by_calls_only(const Collection& collection, Profile profile) {
  return collection.include_regex().empty() && collection.tensor_names().empty() &&
         !known_collections(profile).contains(collection.name());
}

std::string builtin_name_meant(std::string_view name, Profile profile) {
  const auto initial = [](std::string_view text) {
    return text.empty() ? '\0' : to_lower(text.front());
  };
  const auto words = [](std::string_view text) {
    return std::ranges::count_if(
        text, [](char c) { return kBetweenWords.find(c) != std::string_view::npos; });
  };
  // "classes" is no misspelling of "losses", nor "my_weights" one of "weights".
  std::vector<std::string> alike;
  for (const auto& [builtin, collection] : known_collections(profile))
    if (initial(builtin) == initial(name) && words(builtin) >= words(name))
      alike.push_back(builtin);
  return did_you_mean(name, alike);
}

const std::vector<std::string>& default_saved_collections(Profile profile) {
  // Never destroyed: a static hook uses it while it closes.
  static const auto& tensorflow = *new std::vector<std::string>{"metrics", "losses", "sm_metrics"};
  static const auto& xgboost = *new std::vector<std::string>{"metrics"};
  static const auto& others = *new std::vector<std::string>{"losses"};
  switch (profile) {
    case Profile::TensorFlow:
      return tensorflow;
    case Profile::XGBoost:
      return xgboost;
    default:
      return others;
  }
}

bool is_scalar_collection(std::string_view name) noexcept {
  return std::ranges::find(kScalarCollections, name) != kScalarCollections.end();
}

bool is_training_only_collection(std::string_view name) noexcept {
  return name == "gradients" || name == "optimizer_variables";
}

}  // namespace cupel
