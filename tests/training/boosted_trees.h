#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "training/data.h"

namespace cupel::training {

/// Gradient boosting for the square error: each round adds a tree that is fitted to what is left.
class BoostedTrees {
 public:
  /// Borrows both.
  BoostedTrees(const Dataset& training, const Dataset& held_out, int depth, double learning_rate);

  /// Adds a tree; returns its nodes' numbers, as in a heap: root 0, children 2i + 1 and 2i + 2.
  std::vector<std::int64_t> add_tree();

  double training_error() const { return error_of(training_); }  ///< Root of the mean square.
  double held_out_error() const { return error_of(held_out_); }
  /// How large a part of all splits is by each input; adds up to 1.
  std::vector<double> split_shares() const;

 private:
  struct Part {
    const Dataset* data = nullptr;
    std::vector<float> prediction;
    std::vector<std::uint32_t> leaf;  // the node of the growing tree that an example is at
  };
  struct Split {
    std::size_t feature = 0;
    float edge = 0;
    double gain = 0;
  };

  static double error_of(const Part& part);
  Split best_split(std::uint32_t node) const;
  void apply(const Split& split, std::uint32_t node, Part& part) const;
  void end_leaf(std::uint32_t node);

  int depth_;
  double learning_rate_;
  Part training_;
  Part held_out_;
  std::vector<std::vector<float>> edges_;  // by feature, sorted
  std::vector<double> splits_;             // by feature
};

}  // namespace cupel::training
