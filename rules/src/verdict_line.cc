// Verdict lines as JSON and as text.
//
// The JSON is for programs: keys in the documented order, null for what is unset. The text is for
// people: a line for each finding or observation, workers only where there are several. Names and
// messages come from outside and are escaped in both. Pure functions, for any thread.

#include "cupel/rules/verdict_line.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/natural_order.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "cupel/rules/note_json.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

// One JSON object, written as it goes: to gather it as Json first takes several times as long, and
// a line stands between an error and its reader.
class ObjectText {
 public:
  explicit ObjectText(std::string& text) : text_(text) { text_ += '{'; }
  ~ObjectText() { text_ += '}'; }
  ObjectText(const ObjectText&) = delete;
  ObjectText& operator=(const ObjectText&) = delete;

  void add(std::string_view key, std::string_view value) {
    begin(key);
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(value, is_plain)) {
      text_ += json_text(Json(value));
      return;
    }
    text_ += '"';
    text_ += value;
    text_ += '"';
  }
  void add(std::string_view key, double value) {
    if (!std::isfinite(value)) return add(key, shortest_text(value));
    begin(key);
    text_ += json_text(Json(value));
  }
  void add(std::string_view key, std::int64_t value) {
    begin(key);
    text_ += std::to_string(value);
  }
  void add(std::string_view key, const std::optional<std::int64_t>& value) {
    if (value) return add(key, *value);
    add_raw(key, "null");
  }
  /// Of what is JSON.
  void add_raw(std::string_view key, std::string_view json) {
    begin(key);
    text_ += json;
  }

 private:
  void begin(std::string_view key) {
    if (text_.back() != '{') text_ += ',';
    text_ += '"';
    text_ += key;
    text_ += "\":";
  }

  std::string& text_;
};

std::string json_findings(const std::vector<Finding>& findings) {
  std::string text = "[";
  for (const Finding& finding : findings) {
    if (text.size() > 1) text += ',';
    ObjectText object(text);
    object.add("name", finding.tensor);
    object.add("worker", finding.worker);
    object.add("value", finding.value);
    object.add("threshold", finding.threshold);
  }
  return text += ']';
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

// "stop: stop_training was written"
std::string action_text(const ActionOutcome& action, const std::string& message) {
  std::string text = printable(action.action);
  if (action.result != ActionResult::Done) text += " " + std::string(to_string(action.result));
  if (action.attempts > 1) text += " after " + std::to_string(action.attempts) + " attempts";
  return text + ": " + printable(message);
}

}  // namespace

std::string_view to_string(RuleStatus status) noexcept {
  switch (status) {
    case RuleStatus::IssuesFound:
      return "IssuesFound";
    case RuleStatus::NoIssuesFound:
      return "NoIssuesFound";
    case RuleStatus::NothingSeen:
      return "NothingSeen";
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
    case RuleStatus::Action:
      return "Action";
  }
  return "";
}

std::string to_json(const VerdictLine& line) {
  std::string text;
  {
    ObjectText object(text);
    const auto add_if = [&object](bool has, std::string_view key, const auto& value) {
      if (has) return object.add(key, value);
      object.add_raw(key, "null");
    };
    const bool has_mode = line.step && !line.note;
    object.add("time", line.time);
    object.add("trial", line.trial);
    add_if(!line.note, "rule", line.rule);
    add_if(!line.note, "name", line.name);
    object.add("step", line.step);
    add_if(has_mode, "mode", to_string(line.mode));
    add_if(has_mode, "mode_step", line.mode_step);
    object.add("status", to_string(line.status));
    if (line.action) {
      object.add("action", line.action->action);
      object.add("outcome", to_string(line.action->result));
      object.add("attempts", line.action->attempts);
    } else {
      object.add_raw("tensors", json_findings(line.tensors));
    }
    object.add("message", line.message);
    if (line.nan_seen) object.add_raw("nan_seen", "true");
    if (!line.missing_workers.empty())
      object.add_raw("missing_workers", json_text(Json(line.missing_workers)));
    if (line.status == RuleStatus::Explained)
      object.add_raw("explain", json_text(json_explained(line)));
    if (line.note) {
      object.add("worker", line.note->worker);
      object.add_raw("note", json_text(Json::parse(note_json(line.note->text))));
    }
    if (line.final_line) {
      object.add_raw("final", "true");
      object.add("first_step", line.first_step);
      object.add("steps_evaluated", line.steps_evaluated);
      object.add("steps_skipped", line.steps_skipped);
      if (line.steps_damaged > 0) object.add("steps_damaged", line.steps_damaged);
    }
    if (line.incident > 0) object.add("incident", line.incident);
  }
  return text;
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

  if (line.action) return head + action_text(*line.action, line.message);

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
  if (line.nan_seen && line.status == RuleStatus::Explained) lines.add(head + "NaN was met");
  if (!line.missing_workers.empty()) {
    std::string text = head + "judged without";
    for (std::size_t i = 0; i < line.missing_workers.size(); ++i)
      text += (i == 0 ? " " : ", ") + printable(line.missing_workers[i]);
    lines.add(std::move(text));
  }
  return lines.take();
}

}  // namespace cupel
