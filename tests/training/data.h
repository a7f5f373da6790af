#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "training/matrix.h"
#include "training/numeric.h"

namespace cupel::training {

enum class Labels {
  Right,
  Shuffled,  ///< The labels got into another order than the examples.
  TwoMixed,  ///< Those who labelled could not tell the first two classes apart.
};

/// What examples are drawn, and what goes wrong with them.
struct DataOptions {
  std::size_t training_examples = 8000;
  std::size_t held_out_examples = 5000;
  double odds_of_first_class = 1;  ///< Against each of the others.
  Labels labels = Labels::Right;
  /// Inputs are normalized to mean 0 and deviation 1, and then multiplied and moved by these.
  double scale = 1;
  double offset = 0;
  std::size_t padded_length = 12;  ///< Of sequences, at least kLongestSentence.
  bool leaks_target = false;       ///< One of the features is computed from the target.
};

/// Examples with their targets, or their classes.
struct Dataset {
  Matrix inputs = {};
  Matrix targets = {};                     ///< Of regression; else empty.
  std::vector<std::int64_t> classes = {};  ///< Of classification; else empty.
};

constexpr std::size_t kLongestSentence = 12;
constexpr std::size_t kTokens = 12;  ///< Token 0 is padding.
constexpr std::size_t kImageWidth = 8;

/// Points of the plane in three rings, one class each, and two inputs that say nothing.
Dataset make_rings(const DataOptions& options, std::size_t size, Random& random);
/// Images of one channel with stripes in four directions.
Dataset make_stripes(const DataOptions& options, std::size_t size, Random& random);
/// Sequences of tokens, padded in front; the class is whether there are more of the approving or of
/// the disapproving ones.
Dataset make_sentences(const DataOptions& options, std::size_t size, Random& random);
/// Six inputs and a smooth function of four of them.
Dataset make_surface(const DataOptions& options, std::size_t size, Random& random);
/// Twelve inputs that follow from three hidden numbers; they are their own targets.
Dataset make_manifold(const DataOptions& options, std::size_t size, Random& random);
/// Eight inputs, each of which adds a step to the target.
Dataset make_steps(const DataOptions& options, std::size_t size, Random& random);

}  // namespace cupel::training
