#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"

namespace cupel {

/// A named group of tensors that are saved alike: listed names, and patterns over names.
///
/// A value type. Configurations left out are those of the hook. Setters validate at once and throw
/// UsageError, leaving the collection as it was. Copies share their contents until one of them is
/// changed: a run may have hundreds of thousands of collections, and millions of names in them.
class Collection {
 public:
  explicit Collection(std::string name);

  const std::string& name() const noexcept { return name_; }

  /// Adds patterns, searched anywhere in a tensor's name (pattern.h).
  Collection& include(const PatternList& patterns);
  const PatternList& include_regex() const noexcept { return contents().include_regex; }
  Collection& set_include_regex(PatternList patterns);

  /// Names that belong to the collection whatever the patterns say.
  const std::set<std::string, std::less<>>& tensor_names() const noexcept {
    return contents().tensor_names;
  }
  Collection& add_tensor_name(std::string_view tensor);
  Collection& set_tensor_names(std::set<std::string, std::less<>> names);

  /// Whether `tensor` is listed or matched.
  bool contains(std::string_view tensor) const;

  const std::optional<SaveConfig>& save_config() const noexcept { return contents().save_config; }
  Collection& set_save_config(SaveConfig config);
  /// The configuration to change in place, made with defaults if there is none yet. Illegal values
  /// are reported when the first step begins.
  SaveConfig& mutable_save_config();
  const std::optional<ReductionConfig>& reduction_config() const noexcept {
    return contents().reduction_config;
  }
  Collection& set_reduction_config(ReductionConfig config);

  bool save_histogram() const noexcept { return contents().save_histogram; }
  Collection& set_save_histogram(bool on);

 private:
  struct Contents {
    PatternList include_regex;
    std::set<std::string, std::less<>> tensor_names;
    std::optional<SaveConfig> save_config;
    std::optional<ReductionConfig> reduction_config;
    bool save_histogram = true;
  };
  // Contents that several collections share. A std::shared_ptr cannot report safely that it is
  // the only owner.
  class SharedContents {
   public:
    SharedContents() = default;
    SharedContents(const SharedContents& other);
    SharedContents(SharedContents&& other) noexcept
        : counted_(std::exchange(other.counted_, nullptr)) {}
    SharedContents& operator=(SharedContents other) noexcept {
      std::swap(counted_, other.counted_);
      return *this;
    }
    ~SharedContents();

    const Contents& get() const noexcept { return counted_ ? counted_->contents : nothing(); }
    // Returns contents that no other collection shares.
    Contents& own();
    // Does the same for good: a caller may keep a reference to the contents.
    Contents& own_for_ever();

   private:
    struct Counted {
      Contents contents;
      std::atomic<std::size_t> owners{1};
      bool is_shareable = true;
    };
    Counted* counted_ = nullptr;  // null: nothing was set
  };
  static const Contents& nothing() noexcept;
  const Contents& contents() const noexcept { return contents_.get(); }
  Contents& mutable_contents() { return contents_.own(); }

  std::string name_;
  SharedContents contents_;
};

/// Collections by name, in name order.
using Collections = std::map<std::string, Collection, std::less<>>;

/// The most collections that a hook and a run may have, and the most patterns of all collections
/// together.
inline constexpr std::size_t kMostCollections = 250'000;
inline constexpr std::size_t kMostPatterns = 250'000;

/// The same limits for a configuration, which is a text. Each collection in it may have
/// lists of steps for every mode.
inline constexpr std::size_t kMostConfiguredCollections = 1000;
inline constexpr std::size_t kMostConfiguredPatterns = 10'000;
static_assert(kMostConfiguredCollections < kMostCollections &&
              kMostConfiguredPatterns < kMostPatterns);

/// The framework whose tensor names the built-in collections contain.
enum class Profile { Generic, PyTorch, MXNet, TensorFlow, XGBoost };

/// The built-in collections of a profile with their patterns.
Collections builtin_collections(Profile profile);

/// Whether only calls put tensors into the collection: it is not built in, has no patterns and
/// lists no tensors.
bool is_filled_by_calls_only(const Collection& collection, Profile profile);

/// Returns the hint for such a collection whose name is nearly a built-in one: "; did you mean
/// gradients?". Returns nothing for a name that differs by more than a few letters, in its first
/// letter, or by a word.
std::string builtin_name_meant(std::string_view name, Profile profile);

/// Collections that are always saved, named by the user or not.
const std::vector<std::string>& default_saved_collections(Profile profile);

/// losses, metrics, feature_importance, average_shap, sm_metrics: saved raw whatever is configured.
bool is_scalar_collection(std::string_view name) noexcept;

/// gradients, optimizer_variables: never saved in EVAL and PREDICT.
bool is_training_only_collection(std::string_view name) noexcept;

}  // namespace cupel
