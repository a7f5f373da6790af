#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cupel::xgboost_detail {

// The features of a model, in the order of its columns.
struct Features {
  std::vector<std::string> names;
  std::vector<std::string> types;  // for dumps of trees: "c" categorical, "int" whole, "q" others
  std::size_t size() const noexcept { return names.size(); }
};

// Names and types are each those of the booster, else those of the first of the data that has one
// for every feature, else f0, f1 ... and "q". Throws LibraryError if the booster cannot be asked.
Features read_features(void* booster, std::span<void* const> data);

}  // namespace cupel::xgboost_detail
