#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/shape.h"

namespace cupel::xgboost_detail {

// Calls of XGBoost's C API. Handles are borrowed, and never null. Views and spans point into memory
// of XGBoost, which keeps it until the next call with that handle; strings and vectors of strings
// are copies. All of these functions throw LibraryError where XGBoost reports an error.

// An error of XGBoost, or a value of XGBoost that is not as documented.
class LibraryError : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

// The first line of a message of XGBoost, without the clock and the position in XGBoost's source
// before it.
std::string reason_in(std::string_view message);

struct FreeBooster {
  void operator()(void* booster) const noexcept;
};
using OwnedBooster = std::unique_ptr<void, FreeBooster>;

// The text of metrics of all data, which are called by their numbers: "0", "1" ...
std::string evaluate(void* booster, int iteration, std::span<void* const> data);
bool is_distributed();

std::size_t count_features(void* booster);
// feature_name or feature_type, of a booster or of data; empty if there are none.
std::vector<std::string> feature_texts_of_booster(void* booster, const char* field);
std::vector<std::string> feature_texts_of_data(void* data, const char* field);

// Whether the booster is gblinear.
bool is_linear(void* booster);
int count_rounds(void* booster);
// The trees that the last round added, as a model of their own.
OwnedBooster last_layer(void* booster, int rounds);

// The dump of each tree as JSON, with statistics. Features are called f0, f1 ... in it.
std::vector<std::string_view> dump_trees(void* booster, std::span<const std::string> types);

// The score of each feature that trees use, by the number of the feature.
using Scores = std::vector<std::pair<std::size_t, float>>;
Scores feature_scores(void* booster, std::string_view type, std::size_t features);

struct Values {
  std::span<const float> values;
  Shape shape;
};
enum class Predict : int { Value = 0, Contributions = 2 };
Values predict(void* booster, void* data, Predict what);
// The labels of data, one row for each row of the data.
Values labels_of(void* data);

}  // namespace cupel::xgboost_detail
