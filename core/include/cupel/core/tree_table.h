#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/tensor_view.h"

namespace cupel {

/// The nodes of gradient boosted trees, a row each, ordered by tree and node: columns as tensors.
///
/// Reads XGBoost's dumps without XGBoost, for the adapter in C++ and for the one in Python.
class TreeTable {
 public:
  /// Adds the tree that `dump` describes, the text of XGBoost's dump as JSON, as the tree of this
  /// number. `features` are the names of f0, f1 ... in it. Throws Error where the dump is not one;
  /// the table then is as it was.
  void add(std::int64_t tree, std::string_view dump, std::span<const std::string> features);

  static constexpr std::array<std::string_view, 11> kColumns = {
      "Tree", "Node",    "ID",   "Feature", "Split",   "Yes",
      "No",   "Missing", "Gain", "Cover",   "Category"};
  /// Returns the column kColumns[number]. The view is valid as long as the table is not changed.
  TensorView column(std::size_t number) const noexcept;

 private:
  std::vector<std::int64_t> tree_, node_;
  std::vector<std::string> id_, feature_, yes_, no_, missing_, category_;
  std::vector<double> split_, gain_, cover_;
};

}  // namespace cupel
