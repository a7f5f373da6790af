#include "cupel/rules/verdict_line.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "cupel/rules/note_json.h"
#include "cupel/rules/number_text.h"
#include "cupel/rules/printable.h"
#include "natural_order.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

Json json_number(double number) {
  if (std::isfinite(number)) return number;
  return shortest_text(number);
}

template <class T>
Json json_optional(const std::optional<T>& value) {
  if (!value) return nullptr;
  return *value;
}

Json json_findings(const std::vector<Finding>& findings) {
  Json array = Json::array();
  for (const Finding& finding : findings)
    array.push_back({{"name", finding.tensor},
                     {"worker", finding.worker},
                     {"value", json_number(finding.value)},
                     {"threshold", json_number(finding.threshold)}});
  return array;
}

// Observations and skips together, by tensor, then worker; each list comes sorted so.
template <class OnObservation, class OnSkip>
void merge_explained(const VerdictLine& line, OnObservation on_observation, OnSkip on_skip) {
  auto skip = line.skips.begin();
  for (const Observation& observation : line.observations) {
    while (skip != line.skips.end() &&
           (skip->tensor < observation.tensor ||
            (skip->tensor == observation.tensor && natural_less(skip->worker, observation.worker))))
      on_skip(*skip++);
    on_observation(observation);
  }
  while (skip != line.skips.end()) on_skip(*skip++);
}

Json json_explained(const VerdictLine& line) {
  Json array = Json::array();
  merge_explained(
      line,
      [&](const Observation& observation) {
        array.push_back({{"tensor", observation.tensor},
                         {"worker", observation.worker},
                         {"read", observation.read},
                         {"compared", observation.compared},
                         {"fired", observation.fired}});
      },
      [&](const Skip& skip) {
        array.push_back(
            {{"tensor", skip.tensor}, {"worker", skip.worker}, {"skipped", skip.reason}});
      });
  return array;
}

class Lines {
 public:
  void add(std::string line) { text_ += (text_.empty() ? "" : "\n") + std::move(line); }
  bool empty() const { return text_.empty(); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string closing_text(const VerdictLine& line) {
  std::string text = printable(line.name) + "  " + std::string(to_string(line.status));
  if (line.first_step) text += ", first at step " + std::to_string(*line.first_step);
  text += ", " + std::to_string(line.steps_evaluated) + " steps evaluated";
  if (line.steps_skipped > 0) text += ", " + std::to_string(line.steps_skipped) + " with skips";
  if (!line.message.empty()) text += "  " + printable(line.message);
  return text;
}

}  // namespace

std::string_view to_string(RuleStatus status) noexcept {
  switch (status) {
    case RuleStatus::IssuesFound:
      return "IssuesFound";
    case RuleStatus::NoIssuesFound:
      return "NoIssuesFound";
    case RuleStatus::Error:
      return "Error";
    case RuleStatus::Stopped:
      return "Stopped";
    case RuleStatus::Rewound:
      return "Rewound";
    case RuleStatus::Explained:
      return "Explained";
    case RuleStatus::Noted:
      return "Noted";
  }
  return "";
}

std::string to_json(const VerdictLine& line) {
  const auto of_rule = [&line](const std::string& text) {
    return line.note ? Json(nullptr) : Json(text);
  };
  const bool has_mode = line.step && !line.note;
  Json json = {{"time", line.time},
               {"trial", line.trial},
               {"rule", of_rule(line.rule)},
               {"name", of_rule(line.name)},
               {"step", json_optional(line.step)},
               {"mode", has_mode ? Json(to_string(line.mode)) : Json(nullptr)},
               {"mode_step", has_mode ? Json(line.mode_step) : Json(nullptr)},
               {"status", to_string(line.status)},
               {"tensors", json_findings(line.tensors)},
               {"message", line.message}};
  if (!line.missing_workers.empty()) json["missing_workers"] = line.missing_workers;
  if (line.status == RuleStatus::Explained) json["explain"] = json_explained(line);
  if (line.note) {
    json["worker"] = line.note->worker;
    json["note"] = Json::parse(note_json(line.note->text));
  }
  if (line.final_line) {
    json["final"] = true;
    json["first_step"] = json_optional(line.first_step);
    json["steps_evaluated"] = line.steps_evaluated;
    json["steps_skipped"] = line.steps_skipped;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const VerdictLine& line) {
  if (line.final_line) return closing_text(line);
  if (line.note) {
    return "step " + std::to_string(line.note->step) + "  " + printable(line.note->worker) + "  " +
           printable(line.message);
  }
  std::string head;
  if (line.step)
    head = "step " + std::to_string(*line.step) + " " + std::string(to_string(line.mode)) + "  ";
  head += printable(line.name) + "  ";
  const auto tensor = [&line](std::string_view name, std::string_view worker) {
    std::string text = printable(name);
    if (line.num_workers > 1 && !worker.empty()) text += " (" + printable(worker) + ")";
    return text;
  };

  Lines lines;
  for (const Finding& finding : line.tensors)
    lines.add(head + tensor(finding.tensor, finding.worker) + "  " + printable(finding.message));
  if (line.findings_beyond > 0)
    lines.add(head + "and " + std::to_string(line.findings_beyond) + " more");
  merge_explained(
      line,
      [&](const Observation& seen) {
        lines.add(head + tensor(seen.tensor, seen.worker) + "  read " + printable(seen.read) +
                  ": " + printable(seen.compared) + (seen.fired ? ", fired" : ", fine"));
      },
      [&](const Skip& skip) {
        lines.add(head + tensor(skip.tensor, skip.worker) + "  skipped: " + printable(skip.reason));
      });
  if (lines.empty()) {
    if (line.status == RuleStatus::IssuesFound) {
      lines.add(head + printable(line.message));
    } else {
      lines.add(head + std::string(to_string(line.status)) + ": " + printable(line.message));
    }
  }
  if (!line.missing_workers.empty()) {
    std::string text = head + "judged without";
    for (std::size_t i = 0; i < line.missing_workers.size(); ++i)
      text += (i == 0 ? " " : ", ") + printable(line.missing_workers[i]);
    lines.add(std::move(text));
  }
  return lines.take();
}

}  // namespace cupel
