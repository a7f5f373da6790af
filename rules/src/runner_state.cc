// The state of a runner as JSON: written beside the lines, read by the runner that resumes.
//
// Reading checks every field: a file that this program did not write is a FormatError as a whole,
// wherever it is wrong. Version 1, of cupel 0.1, is still read. difference_of() explains to a
// person why a state does not fit the rules of a runner. Pure functions, for any thread.

#include "runner_state.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/core/utf8.h"

namespace cupel::rules_detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
constexpr int kFirstVersion = 1;  // that cupel 0.1 wrote
constexpr std::size_t kMostDetails = 1024;

// A file that is not what we wrote is refused as a whole, wherever the reading of it fails.
template <class Read>
auto read_or_refuse(std::string_view json, const std::string& file, Read read) {
  try {
    return read(Json::parse(json));
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(file, 0, std::string("this is not what a runner writes: ") + error.what());
  } catch (const UsageError& error) {
    throw FormatError(file, 0, std::string("this is not what a runner writes: ") + error.what());
  }
}

Json number_or_null(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json();
}
std::optional<std::int64_t> optional_number(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<std::int64_t>();
}

RuleStatus parse_status(const std::string& text) {
  for (const RuleStatus status : {RuleStatus::IssuesFound, RuleStatus::NoIssuesFound,
                                  RuleStatus::NothingSeen, RuleStatus::Error, RuleStatus::Stopped})
    if (text == to_string(status)) return status;
  throw UsageError("an unknown status: " + text);
}

// Counts and steps are never negative.
std::int64_t count_of(const Json& json) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;
  const auto count =
      json.is_number_unsigned() ? json.get<std::uint64_t>() : kMost + std::uint64_t{1};
  if (count > kMost) throw UsageError("no count: " + json_text(json));
  return static_cast<std::int64_t>(count);
}

Json json_of(const Incident& incident) {
  return {{"mode", to_string(incident.mode)},  {"number", incident.number},
          {"first_step", incident.first_step}, {"last_step", incident.last_step},
          {"steps", incident.steps},           {"findings", incident.findings}};
}

Incident incident_of(const Json& json, const RuleSummary& of) {
  return {.rule = of.rule,
          .name = of.name,
          .mode = parse_mode(json.at("mode").get<std::string>()),
          .number = count_of(json.at("number")),
          .first_step = count_of(json.at("first_step")),
          .last_step = count_of(json.at("last_step")),
          .steps = count_of(json.at("steps")),
          .findings = count_of(json.at("findings"))};
}

Json json_of(const RuleRecord& record) {
  const RuleSummary& summary = record.summary;
  Json open = Json::array();
  for (const auto& [mode, incident] : record.open_incidents) open.push_back(json_of(incident));
  Json json = {{"rule", summary.rule},
               {"name", summary.name},
               {"status", to_string(summary.status)},
               {"message", summary.message},
               {"first_step", number_or_null(summary.first_step)},
               {"first_message", record.first_message},
               {"steps_fired", summary.steps_fired},
               {"steps_evaluated", summary.steps_evaluated},
               {"steps_skipped", summary.steps_skipped},
               {"next_step", record.next_step},
               {"rewinds", record.rewinds ? Json(*record.rewinds) : Json()},
               {"closed", record.closed},
               {"has_judged", summary.has_judged},
               {"incidents", record.incidents},
               {"open_incidents", std::move(open)},
               {"blind_steps", record.blind_steps},
               {"blind_reason", record.blind_reason},
               {"steps_damaged", summary.steps_damaged},
               {"first_damage", record.first_damage}};
  if (record.last)
    json["last"] = {{"step", record.last->step},
                    {"mode", to_string(record.last->mode)},
                    {"mode_step", record.last->mode_step},
                    {"num_workers", record.last->num_workers}};
  return json;
}

// The first version knew one incident of a rule, of whatever mode, and not whether a step was
// judged.
void add_what_the_first_version_lacks(const Json& json, RuleRecord& record) {
  RuleSummary& summary = record.summary;
  summary.has_judged = record.blind_steps < summary.steps_evaluated;
  record.incidents = summary.steps_fired > 0 ? 1 : 0;
  if (!json.value("firing", false) || !record.last) return;
  const std::int64_t first = summary.first_step.value_or(record.last->step);
  record.open_incidents[record.last->mode] = {.rule = summary.rule,
                                              .name = summary.name,
                                              .mode = record.last->mode,
                                              .number = record.incidents,
                                              .first_step = first,
                                              .last_step = record.last->step,
                                              .steps = summary.steps_fired,
                                              .findings = summary.steps_fired};
}

RuleRecord record_of(const Json& json, int version) {
  RuleRecord record;
  RuleSummary& summary = record.summary;
  summary.rule = json.at("rule");
  summary.name = json.at("name");
  summary.status = parse_status(json.at("status"));
  summary.message = json.at("message");
  summary.first_step = optional_number(json.at("first_step"));
  summary.steps_fired = count_of(json.at("steps_fired"));
  summary.steps_evaluated = count_of(json.at("steps_evaluated"));
  summary.steps_skipped = count_of(json.at("steps_skipped"));
  record.first_message = json.at("first_message");
  record.next_step = count_of(json.at("next_step"));
  if (const Json& rewinds = json.at("rewinds"); !rewinds.is_null())
    record.rewinds = static_cast<std::size_t>(count_of(rewinds));
  record.closed = json.at("closed");
  record.blind_steps = count_of(json.at("blind_steps"));
  record.blind_reason = json.at("blind_reason");
  if (json.contains("last")) {
    const Json& last = json.at("last");
    record.last = {count_of(last.at("step")), parse_mode(last.at("mode").get<std::string>()),
                   count_of(last.at("mode_step")), count_of(last.at("num_workers"))};
  }
  if (version == kFirstVersion) {
    add_what_the_first_version_lacks(json, record);
    return record;
  }
  summary.has_judged = json.at("has_judged");
  record.incidents = count_of(json.at("incidents"));
  for (const Json& open : json.at("open_incidents")) {
    Incident incident = incident_of(open, summary);
    record.open_incidents.emplace(incident.mode, std::move(incident));
  }
  summary.steps_damaged = count_of(json.at("steps_damaged"));
  record.first_damage = json.at("first_damage");
  return record;
}

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  throw UsageError("no number: " + text);
}

// Texts are cut between characters.
std::string cut(std::string text) {
  text.resize(whole_characters(text, kMostDetails).size());
  return text;
}

struct Status {
  std::string status;
  std::string details;
};

Status status_of(const RuleRecord& record, bool ended) {
  const RuleSummary& summary = record.summary;
  std::string details;
  if (summary.status == RuleStatus::Error)
    details = summary.message;
  else if (summary.steps_fired > 0)
    details = "RuleEvaluationConditionMet: " + record.first_message;
  else if (ended)
    details = summary.message;
  return {ended || record.closed ? std::string(to_string(summary.status)) : "InProgress",
          cut(std::move(details))};
}

std::string dumped(const Json& json, int indent) { return json_text(json, indent) + "\n"; }

}  // namespace

std::string to_json(const RunnerState& state) {
  Json rules = Json::array();
  for (const RunnerState::Rule& rule : state.rules) {
    Json json = json_of(rule.record);
    json["configuration"] = rule.configuration;
    rules.push_back(std::move(json));
  }
  Json pending = Json::array();
  for (const RunnerState::PendingAction& action : state.pending)
    pending.push_back({{"name", action.rule},
                       {"action", action.action},
                       {"text", action.text},
                       {"incident", action.incident},
                       {"line", action.line}});
  return dumped({{"version", kVersion},
                 {"runner", state.runner},
                 {"runs", state.runs},
                 {"bytes", state.bytes},
                 {"rules", std::move(rules)},
                 {"pending", std::move(pending)}},
                -1);
}

RunnerState parse_runner_state(std::string_view text, const std::string& file) {
  return read_or_refuse(text, file, [](const Json& json) {
    const int version = json.at("version");
    if (version != kVersion && version != kFirstVersion)
      throw UsageError("it is of another version of cupel");
    RunnerState state;
    state.runner = json.value("runner", "");
    state.runs = json.at("runs").get<std::vector<std::string>>();
    state.bytes = static_cast<std::uint64_t>(count_of(json.at("bytes")));
    for (const Json& rule : json.at("rules"))
      state.rules.push_back({rule.at("configuration"), record_of(rule, version)});
    for (const Json& action : json.at("pending"))
      state.pending.push_back({action.at("name"),
                               static_cast<std::size_t>(count_of(action.at("action"))),
                               action.value("text", ""), action.at("incident"), action.at("line")});
    return state;
  });
}

VerdictLine parse_verdict_line(std::string_view text, const std::string& file) {
  return read_or_refuse(text, file, [](const Json& json) {
    VerdictLine line;
    line.time = json.at("time");
    line.trial = json.at("trial");
    line.rule = json.at("rule");
    line.name = json.at("name");
    line.step = optional_number(json.at("step"));
    if (line.step) {
      line.mode = parse_mode(json.at("mode").get<std::string>());
      line.mode_step = json.at("mode_step");
    }
    line.status = parse_status(json.at("status"));
    for (const Json& tensor : json.at("tensors"))
      line.tensors.push_back({.tensor = tensor.at("name"),
                              .worker = tensor.at("worker"),
                              .value = number_of(tensor.at("value")),
                              .threshold = number_of(tensor.at("threshold"))});
    line.message = json.at("message");
    if (json.contains("missing_workers"))
      line.missing_workers = json.at("missing_workers").get<std::vector<std::string>>();
    line.incident = json.value("incident", std::int64_t{0});
    return line;
  });
}

std::string status_json(const std::vector<RuleRecord>& records,
                        const std::vector<std::string>& times, bool ended) {
  Json array = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Status status = status_of(records[i], ended);
    array.push_back({{"RuleConfigurationName", records[i].summary.name},
                     {"RuleEvaluationJobArn", records[i].summary.rule},
                     {"RuleEvaluationStatus", status.status},
                     {"StatusDetails", status.details},
                     {"LastModifiedTime", times[i]}});
  }
  return dumped(array, 2);
}

std::string status_text(const RuleRecord& record, bool ended) {
  const Status status = status_of(record, ended);
  return status.status + " " + status.details;
}

}  // namespace cupel::rules_detail
