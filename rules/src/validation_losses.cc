#include "validation_losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace cupel::rules_detail {
namespace {

constexpr std::string_view kTraining = "train-";
constexpr std::array<std::string_view, 4> kValidation = {"validation-", "eval-", "val-", "test-"};
constexpr std::array<std::string_view, 5> kGrowing = {"auc", "aucpr", "map", "ndcg", "pre"};

// "map@5-" is map, of the first five.
bool grows(std::string_view metric) noexcept {
  metric = metric.substr(0, metric.find('@'));
  if (metric.ends_with('-')) metric.remove_suffix(1);
  return std::find(kGrowing.begin(), kGrowing.end(), metric) != kGrowing.end();
}

}  // namespace

Parameter loss_regex() {
  return {.name = "tensor_regex",
          .help = "patterns searched in the names of losses; default: the collection losses"};
}

NeededTensors losses_of(const PatternList& patterns) {
  NeededTensors losses = {.patterns = patterns, .parameters = {"tensor_regex"}};
  if (patterns.empty()) losses.collections = {"losses"};
  return losses;
}

double percentage_base(double value) noexcept {
  constexpr double kInsteadOfZero = 1e-12;
  return value == 0 ? kInsteadOfZero : std::abs(value);
}

bool has_evaluation(const Trial& run) {
  const std::vector<Mode> modes = run.modes();
  return std::find(modes.begin(), modes.end(), Mode::Eval) != modes.end();
}

LossName loss_name(std::string_view tensor) noexcept {
  using Kind = LossName::Kind;
  const auto named = [&](std::string_view prefix, Kind kind) {
    const std::string_view metric = tensor.substr(prefix.size());
    return LossName{grows(metric) ? Kind::Growing : kind, metric};
  };
  if (tensor.starts_with(kTraining)) return named(kTraining, Kind::Training);
  for (const std::string_view prefix : kValidation)
    if (tensor.starts_with(prefix)) return named(prefix, Kind::Validation);
  return {};
}

}  // namespace cupel::rules_detail
