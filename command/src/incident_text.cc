#include "incident_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "amount_text.h"
#include "cupel/core/printable.h"

namespace cupel::command_detail {
namespace {

// The distance of a value beyond its threshold: first as a ratio, because thresholds have any
// magnitude, then as a difference. The ratio is infinite where value and threshold have different
// signs, so that a gradient of 0 is worse than any small one.
std::pair<double, double> distance_of(const Finding& finding) {
  constexpr double kFarthest = std::numeric_limits<double>::infinity();
  if (!std::isfinite(finding.value)) return {kFarthest, kFarthest};
  const double ratio = finding.value / finding.threshold;
  const double difference = std::abs(finding.value - finding.threshold);
  return {ratio > 0 ? std::abs(std::log(ratio)) : kFarthest,
          std::isfinite(difference) ? difference : kFarthest};
}

const Finding& worst_of(const std::vector<Finding>& findings) {
  return *std::max_element(
      findings.begin(), findings.end(),
      [](const Finding& a, const Finding& b) { return distance_of(a) < distance_of(b); });
}

std::string incident_head(const std::optional<std::int64_t>& step, Mode mode,
                          const std::string& name) {
  std::string text;
  if (step) text = "step " + std::to_string(*step) + " " + std::string(to_string(mode)) + "  ";
  return text + printable(name) + "  ";
}

}  // namespace

std::string begin_text(const VerdictLine& line) {
  std::string text = incident_head(line.step, line.mode, line.name) + "begins";
  if (line.tensors.empty()) {
    text += ": " + printable(line.message);
  } else {
    const Finding& worst = worst_of(line.tensors);
    std::set<std::string_view> tensors;
    for (const Finding& finding : line.tensors)
      if (!finding.tensor.empty()) tensors.insert(finding.tensor);
    if (!tensors.empty()) {
      // The line does not have the tensors of findings that it counts only.
      text += line.findings_beyond > 0 ? " in at least " : " in ";
      text += count_text(tensors.size(), "tensor") + (tensors.size() > 1 ? ", worst " : ", ");
      text += printable(worst.tensor);
      if (line.num_workers > 1 && !worst.worker.empty())
        text += " (" + printable(worst.worker) + ")";
      text += "  ";
    } else {
      text += ": ";
    }
    text += printable(worst.message);
  }
  for (std::size_t i = 0; i < line.missing_workers.size(); ++i)
    text += (i == 0 ? ", judged without " : ", ") + printable(line.missing_workers[i]);
  return text;
}

std::string over_text(const Incident& incident) {
  const auto steps = static_cast<std::uint64_t>(incident.steps);
  const std::string first = std::to_string(incident.first_step);
  return incident_head(incident.over_at, incident.mode, incident.name) + "is over after " +
         count_text(steps, "step") + ", " + first +
         (incident.last_step > incident.first_step ? " to " + std::to_string(incident.last_step)
                                                   : std::string()) +
         ", with " + count_text(static_cast<std::uint64_t>(incident.findings), "finding");
}

}  // namespace cupel::command_detail
