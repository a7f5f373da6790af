#include "validation_losses.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tensor_selection.h"

namespace cupel {
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

NeededTensors losses_collection() {
  return {.collections = {"losses"}, .parameters = {std::string(kLossRegex.name)}};
}

NeededTensors read_losses(ParameterReader& reader) {
  NeededTensors losses = losses_collection();
  if (reader.text(kLossRegex.name).empty()) return losses;
  losses.collections.clear();
  losses.patterns = read_patterns(reader, kLossRegex.name);
  return losses;
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

}  // namespace cupel
