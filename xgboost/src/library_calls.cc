// XGBoost's C API as functions that throw. It reports errors by a status and a text of the calling
// thread, and returns arrays in memory of the handle or of the thread. The names of features never
// reach XGBoost: features are called f0, f1 ... in what is asked, so that no name has to be quoted,
// and the numbers behind the letter lead back to names. One source serves XGBoost 1.7 to 3.2.

#include "library_calls.h"

#include <xgboost/c_api.h>

#include <nlohmann/json.hpp>

#include "cupel/core/number_text.h"

namespace cupel::xgboost_detail {
namespace {

constexpr int kOutOfBounds = -2;  // of XGBoosterSlice, which leaves no text then

void check(int status) {
  if (status != 0) throw LibraryError(reason_in(XGBGetLastError()));
}

std::string numbered(std::size_t feature) { return "f" + std::to_string(feature); }

std::vector<std::string> copied(const char* const* texts, bst_ulong count) {
  return {texts, texts + count};
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Without "[10:09:01] /path/learner.cc:1050: " before it.
std::string_view without_place(std::string_view line) noexcept {
  for (std::size_t at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
    const std::size_t end = line.find_first_not_of("0123456789", at + 1);
    if (end == std::string_view::npos) break;
    if (end > at + 1 && line[end] == ':' &&
        (end + 1 == line.size() || line[end + 1] == ' '))  // not of the clock
      return trimmed(line.substr(end + 1));
  }
  if (line.starts_with('['))  // a clock and no place
    if (const std::size_t end = line.find("] "); end != std::string_view::npos)
      return trimmed(line.substr(end + 2));
  return line;
}

}  // namespace

std::string reason_in(std::string_view message) {
  while (!message.empty()) {
    const std::size_t end = message.find('\n');
    const std::string_view line = without_place(trimmed(message.substr(0, end)));
    if (!line.empty()) return std::string(line);
    message.remove_prefix(end == std::string_view::npos ? message.size() : end + 1);
  }
  return "XGBoost gives no reason";
}

void FreeBooster::operator()(void* booster) const noexcept {
  static_cast<void>(XGBoosterFree(booster));
}

std::string evaluate(void* booster, int iteration, std::span<void* const> data) {
  std::vector<std::string> numbers;
  numbers.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) numbers.push_back(std::to_string(i));
  std::vector<const char*> names;
  names.reserve(data.size());
  for (const std::string& number : numbers) names.push_back(number.c_str());
  std::vector<DMatrixHandle> handles(data.begin(), data.end());
  const char* text = nullptr;
  check(XGBoosterEvalOneIter(booster, iteration, handles.data(), names.data(), handles.size(),
                             &text));
  return text;
}

bool is_distributed() { return XGCommunicatorIsDistributed() != 0; }

std::size_t count_features(void* booster) {
  bst_ulong count = 0;
  check(XGBoosterGetNumFeature(booster, &count));
  return count;
}

std::vector<std::string> feature_texts_of_booster(void* booster, const char* field) {
  bst_ulong count = 0;
  const char** texts = nullptr;
  check(XGBoosterGetStrFeatureInfo(booster, field, &count, &texts));
  return copied(texts, count);
}

std::vector<std::string> feature_texts_of_data(void* data, const char* field) {
  bst_ulong count = 0;
  const char** texts = nullptr;
  check(XGDMatrixGetStrFeatureInfo(data, field, &count, &texts));
  return copied(texts, count);
}

bool is_linear(void* booster) {
  bst_ulong length = 0;
  const char* text = nullptr;
  check(XGBoosterSaveJsonConfig(booster, &length, &text));
  constexpr bool kThrow = false;
  const auto config = nlohmann::json::parse(text, text + length, nullptr, kThrow);
  const nlohmann::json::json_pointer name("/learner/gradient_booster/name");
  return config.is_object() && config.contains(name) && config[name] == "gblinear";
}

int count_rounds(void* booster) {
  int rounds = 0;
  check(XGBoosterBoostedRounds(booster, &rounds));
  return rounds;
}

OwnedBooster last_layer(void* booster, int rounds) {
  BoosterHandle layer = nullptr;
  constexpr int kStep = 1;
  const int status = XGBoosterSlice(booster, rounds - 1, rounds, kStep, &layer);
  if (status == kOutOfBounds) throw LibraryError("the last round has no trees");
  check(status);
  return OwnedBooster(layer);
}

std::vector<std::string_view> dump_trees(void* booster, std::span<const std::string> types) {
  std::vector<std::string> names;
  names.reserve(types.size());
  std::vector<const char*> name_texts, type_texts;
  for (std::size_t i = 0; i < types.size(); ++i) {
    name_texts.push_back(names.emplace_back(numbered(i)).c_str());
    type_texts.push_back(types[i].c_str());
  }
  bst_ulong count = 0;
  const char** dumps = nullptr;
  constexpr int kWithStatistics = 1;
  check(XGBoosterDumpModelExWithFeatures(booster, static_cast<int>(types.size()), name_texts.data(),
                                         type_texts.data(), kWithStatistics, "json", &count,
                                         &dumps));
  return {dumps, dumps + count};
}

Scores feature_scores(void* booster, std::string_view type, std::size_t features) {
  std::string config = "{\"importance_type\": \"" + std::string(type) + "\", \"feature_names\": [";
  for (std::size_t i = 0; i < features; ++i) config += (i == 0 ? "\"" : ", \"") + numbered(i) + '"';
  config += "]}";
  bst_ulong count = 0, rank = 0;
  const char** names = nullptr;
  const bst_ulong* shape = nullptr;
  const float* scores = nullptr;
  check(XGBoosterFeatureScore(booster, config.c_str(), &count, &names, &rank, &shape, &scores));
  if (rank != 1 || (count > 0 && shape[0] != count))
    throw LibraryError("XGBoost gives no single score for each feature");
  Scores result;
  result.reserve(count);
  for (bst_ulong i = 0; i < count; ++i) {
    const std::string_view name = names[i];
    const auto number = parse_integer<std::size_t>(name.substr(name.empty() ? 0 : 1));
    if (!number || *number >= features)
      throw LibraryError("XGBoost gives a score for an unknown feature");
    result.emplace_back(*number, scores[i]);
  }
  return result;
}

Values predict(void* booster, void* data, Predict what) {
  const std::string config = "{\"type\": " + std::to_string(static_cast<int>(what)) +
                             ", \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, "
                             "\"strict_shape\": false}";
  const bst_ulong* shape = nullptr;
  bst_ulong rank = 0;
  const float* values = nullptr;
  check(XGBoosterPredictFromDMatrix(booster, data, config.c_str(), &shape, &rank, &values));
  const Shape extents(std::span<const bst_ulong>(shape, rank));
  const std::int64_t elements = extents.elements();
  if (elements < 0) throw LibraryError("XGBoost gives predictions of an impossible shape");
  return {{values, static_cast<std::size_t>(elements)}, extents};
}

Values labels_of(void* data) {
  bst_ulong rows = 0, count = 0;
  const float* labels = nullptr;
  check(XGDMatrixNumRow(data, &rows));
  check(XGDMatrixGetFloatInfo(data, "label", &count, &labels));
  if (count == 0) throw LibraryError("the data have no labels");
  if (rows == 0 || count % rows != 0)
    throw LibraryError("the data have " + std::to_string(count) + " labels for " +
                       std::to_string(rows) + " rows");
  const Shape shape = count == rows ? Shape{rows} : Shape{rows, count / rows};
  return {{labels, count}, shape};
}

}  // namespace cupel::xgboost_detail
