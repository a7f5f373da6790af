// Rules and runners for Python, as cupel.rules adapts them. Options come as a dictionary, so that
// the constructor in Python has their names and defaults.

#include <nanobind/nanobind.h>
#include <nanobind/stl/chrono.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/rules/rule_runner.h"
#include "option_table.h"
#include "parts.h"
#include "python_rule.h"
#include "rule_stream.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

using Texts = std::vector<std::string>;

// ---- The options of a runner

std::vector<Action> actions_of(const Texts& texts) {
  std::vector<Action> actions;
  for (const std::string& text : texts) actions.push_back(parse_action(text));
  return actions;
}

constexpr auto kFields = std::to_array<OptionField<RunnerOptions>>({
    {"jobs", set_member<&RunnerOptions::jobs>},
    {"start_step", set_member<&RunnerOptions::start_step>},
    {"end_step", set_member<&RunnerOptions::end_step>},
    {"stop_at_first", set_member<&RunnerOptions::stop_at_first>},
    {"wait", set_member<&RunnerOptions::wait>},
    {"idle_timeout", set_seconds<&RunnerOptions::idle_timeout>},
    {"until_writer_gone", set_member<&RunnerOptions::until_writer_gone>},
    {"explain", set_member<&RunnerOptions::explain>},
    {"out", set_member<&RunnerOptions::out>},
    {"out_interval", set_seconds<&RunnerOptions::out_interval>},
    {"actions", [](RunnerOptions& options,
                   nb::handle value) { options.actions = actions_of(nb::cast<Texts>(value)); }},
    {"dry_run", set_member<&RunnerOptions::dry_run>},
    {"webhook_authority", set_member<&RunnerOptions::webhook_authority>},
    {"tick_interval", set_seconds<&RunnerOptions::tick_interval>},
});

RunnerOptions read_runner_options(const nb::dict& values) {
  RunnerOptions options = read_options(values, kFields);
  if (options.start_step < 0)
    throw UsageError("start_step must not be negative: " + std::to_string(options.start_step));
  return options;
}

// ---- Rules

std::vector<Action> read_actions(const std::string& json) {
  std::vector<std::string> warnings;
  std::vector<Action> actions = parse_action_json(json, warnings);
  for (const std::string& warning : warnings) log(LogLevel::Warning, warning);
  return actions;
}

void add_engine(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<PythonRule>(module, "RuleEngine")
      .def(
          "__init__",
          [](PythonRule* self, const nb::object& base, const nb::list& others, nb::object rule) {
            std::vector<TrialObject> trials;
            for (const nb::handle other : others) trials.push_back(trial_object(other));
            new (self) PythonRule(trial_object(base), trials, std::move(rule));
          },
          "base_trial"_a, "other_trials"_a, "rule"_a)
      .def("views", [](const PythonRule& self) { return self.views(); })
      .def(
          "invoke", [](PythonRule& self, std::int64_t step) { self.invoke(step); }, "step"_a,
          Release())
      .def(
          "invoke_all",
          [](PythonRule& self, std::int64_t start_step, std::optional<std::int64_t> end_step,
             bool raise_eval_cond) {
            invoke_rule(self, {start_step, end_step, raise_eval_cond});
          },
          "start_step"_a, "end_step"_a.none(), "raise_eval_cond"_a, Release());
  module.def("check_actions", [](const std::string& json) { read_actions(json); });
}

// ---- The runner

void add_results(nb::module_& module) {
  nb::class_<RuleSummary>(module, "RuleSummary")
      .def_ro("rule", &RuleSummary::rule)
      .def_ro("name", &RuleSummary::name)
      .def_prop_ro("status",
                   [](const RuleSummary& self) { return std::string(to_string(self.status)); })
      .def_ro("first_step", &RuleSummary::first_step)
      .def_ro("steps_fired", &RuleSummary::steps_fired)
      .def_ro("steps_evaluated", &RuleSummary::steps_evaluated)
      .def_ro("steps_skipped", &RuleSummary::steps_skipped)
      .def_ro("steps_damaged", &RuleSummary::steps_damaged)
      .def_ro("message", &RuleSummary::message)
      .def_ro("has_judged", &RuleSummary::has_judged);
  nb::class_<RunSummary>(module, "RunSummary")
      .def_ro("rules", &RunSummary::rules)
      .def_prop_ro("found_issues", &RunSummary::found_issues)
      .def_prop_ro("had_errors", &RunSummary::had_errors);
  nb::class_<RunnerProgress>(module, "RunnerProgress")
      .def_ro("newest_step", &RunnerProgress::newest_step)
      .def_ro("newest_at", &RunnerProgress::newest_at)
      .def_ro("steps_judged", &RunnerProgress::steps_judged)
      .def_ro("steps_behind", &RunnerProgress::steps_behind);
}

void add_runner(nb::module_& module) {
  nb::class_<RuleStream>(module, "RuleRunner", nb::is_weak_referenceable())
      .def(
          "__init__",
          [](RuleStream* self, const nb::object& trial, const nb::dict& options) {
            new (self) RuleStream(trial_object(trial), read_runner_options(options));
          },
          "trial"_a, "options"_a)
      .def(
          "add_rule",
          [](RuleStream& self, std::string spec, RuleParameters parameters) {
            self.add({.rule = std::move(spec), .parameters = std::move(parameters)});
          },
          "spec"_a, "parameters"_a)
      .def(
          "add_python_rule",
          [](RuleStream& self, const nb::object& rule, const std::string& actions,
             const std::string& fingerprint) {
            RuleConfiguration configuration;
            configuration.parameters = {{"code", fingerprint}};
            configuration.actions = read_actions(actions);
            self.add(rule, std::move(configuration));
          },
          "rule"_a, "actions"_a, "fingerprint"_a)
      .def("start", &RuleStream::start)
      .def("next", &RuleStream::next)
      .def("close", &RuleStream::close)
      .def("stop", &RuleStream::stop)
      .def_prop_ro("progress", &RuleStream::progress)
      .def_prop_ro("summary", [](const RuleStream& self) { return self.summary(); });
  module.def("join_list", &join_list, "entries"_a);
}

}  // namespace

void add_rules(nb::module_& module) {
  add_engine(module);
  add_results(module);
  add_runner(module);
}

}  // namespace cupel::python
