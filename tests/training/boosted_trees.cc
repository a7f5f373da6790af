#include "training/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cupel::training {
namespace {

constexpr std::size_t kEdges = 31;  // that a split may be at, of each feature
constexpr double kLeastExamples = 5;

struct Sum {
  double count = 0;
  double residual = 0;
  // How much the square error falls when all get their mean.
  double gain() const { return count > 0 ? residual * residual / count : 0; }
};

}  // namespace

BoostedTrees::BoostedTrees(const Dataset& training, const Dataset& held_out, int depth,
                           double learning_rate)
    : depth_(depth), learning_rate_(learning_rate) {
  for (auto [part, data] : {std::pair{&training_, &training}, std::pair{&held_out_, &held_out}})
    *part = {.data = data,
             .prediction = std::vector<float>(data->inputs.rows),
             .leaf = std::vector<std::uint32_t>(data->inputs.rows)};
  splits_.resize(training.inputs.columns);
  for (std::size_t feature = 0; feature < training.inputs.columns; ++feature) {
    std::vector<float> values;
    for (std::size_t i = 0; i < training.inputs.rows; ++i)
      values.push_back(training.inputs.row(i)[feature]);
    std::sort(values.begin(), values.end());
    std::vector<float> edges;
    for (std::size_t k = 1; k <= kEdges; ++k)
      edges.push_back(values[k * values.size() / (kEdges + 1)]);
    edges_.push_back(std::move(edges));
  }
}

double BoostedTrees::error_of(const Part& part) {
  double sum = 0;
  for (std::size_t i = 0; i < part.prediction.size(); ++i) {
    const double error = part.data->targets.values[i] - part.prediction[i];
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(part.prediction.size()));
}

BoostedTrees::Split BoostedTrees::best_split(std::uint32_t node) const {
  Split best;
  for (std::size_t feature = 0; feature < edges_.size(); ++feature) {
    const std::vector<float>& edges = edges_[feature];
    std::vector<Sum> buckets(edges.size() + 1);
    Sum all;
    for (std::size_t i = 0; i < training_.leaf.size(); ++i) {
      if (training_.leaf[i] != node) continue;
      const float value = training_.data->inputs.row(i)[feature];
      const auto bucket = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
      const double residual = training_.data->targets.values[i] - training_.prediction[i];
      for (Sum* const sum : {&buckets[static_cast<std::size_t>(bucket)], &all}) {
        sum->count += 1;
        sum->residual += residual;
      }
    }
    Sum below;
    for (std::size_t k = 0; k < edges.size(); ++k) {
      below = {below.count + buckets[k].count, below.residual + buckets[k].residual};
      const Sum above = {all.count - below.count, all.residual - below.residual};
      if (std::min(below.count, above.count) < kLeastExamples) continue;
      const double gain = below.gain() + above.gain() - all.gain();
      if (gain > best.gain) best = {feature, edges[k], gain};
    }
  }
  return best;
}

void BoostedTrees::apply(const Split& split, std::uint32_t node, Part& part) const {
  for (std::size_t i = 0; i < part.leaf.size(); ++i)
    if (part.leaf[i] == node)
      part.leaf[i] = 2 * node + (part.data->inputs.row(i)[split.feature] < split.edge ? 1U : 2U);
}

void BoostedTrees::end_leaf(std::uint32_t node) {
  Sum sum;
  for (std::size_t i = 0; i < training_.leaf.size(); ++i)
    if (training_.leaf[i] == node) {
      sum.count += 1;
      sum.residual += training_.data->targets.values[i] - training_.prediction[i];
    }
  if (sum.count == 0) return;
  const auto step = static_cast<float>(learning_rate_ * sum.residual / sum.count);
  for (Part* const part : {&training_, &held_out_})
    for (std::size_t i = 0; i < part->leaf.size(); ++i)
      if (part->leaf[i] == node) part->prediction[i] += step;
}

std::vector<std::int64_t> BoostedTrees::add_tree() {
  for (Part* const part : {&training_, &held_out_})
    std::fill(part->leaf.begin(), part->leaf.end(), 0U);
  std::vector<std::int64_t> nodes;
  std::vector<std::uint32_t> leaves;
  std::vector<std::uint32_t> level = {0};
  for (int depth = 0; !level.empty(); ++depth) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t node : level) {
      nodes.push_back(node);
      const Split split = depth < depth_ ? best_split(node) : Split{};
      if (split.gain <= 0) {
        leaves.push_back(node);
        continue;
      }
      splits_[split.feature] += 1;
      for (Part* const part : {&training_, &held_out_}) apply(split, node, *part);
      next.insert(next.end(), {2 * node + 1, 2 * node + 2});
    }
    level = std::move(next);
  }
  for (const std::uint32_t leaf : leaves) end_leaf(leaf);
  return nodes;
}

std::vector<double> BoostedTrees::split_shares() const {
  const double all = std::accumulate(splits_.begin(), splits_.end(), 0.0);
  std::vector<double> shares;
  for (const double splits : splits_) shares.push_back(all > 0 ? splits / all : 0);
  return shares;
}

}  // namespace cupel::training
