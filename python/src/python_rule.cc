// Rules in Python as the runner sees them.
//
// A thread of the runner calls HeldRule, which waits for the turn of rules in Python, then takes
// the GIL. PythonRule pins the views of the rule of Python as its own are pinned, and calls
// Rule._judge(), whose answer becomes a Verdict. Order of locks: the turn, then the lock of a view
// (released before Python is called), then the GIL. Exceptions of Python become those of C++ that
// the runner knows; all others are an Error with the traceback, and end the rule.

#include "python_rule.h"

#include <nanobind/stl/string.h>

#include <chrono>
#include <functional>
#include <utility>

#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/pins.h"
#include "cupel/trial/run_follower.h"
#include "mode_caster.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

std::vector<Trial*> pointers(const std::vector<TrialObject>& trials) {
  std::vector<Trial*> all;
  for (const TrialObject& trial : trials) all.push_back(&trial.trial());
  return all;
}

std::vector<TrialObject> with(const TrialObject& base, std::vector<TrialObject> others) {
  others.insert(others.begin(), base);
  return others;
}

// Pins a view of Python until the guard is destroyed. Used without the GIL.
class ViewPin {
 public:
  ViewPin(const TrialObject& view, const Trial& as, std::optional<std::int64_t> up_to)
      : view_(view) {
    view_.alone([&](Trial& trial) {
      pin_ = std::make_unique<PinnedView>(trial, RunFollower(as).snapshot(), up_to);
    });
  }
  ~ViewPin() {
    view_.alone([&](Trial&) { pin_.reset(); });
  }
  ViewPin(const ViewPin&) = delete;
  ViewPin& operator=(const ViewPin&) = delete;

 private:
  const TrialObject& view_;
  std::unique_ptr<PinnedView> pin_;
};

Mode mode_of(nb::handle error) {
  Mode mode = Mode::Global;
  read_mode(nb::getattr(error, "mode", nb::none()), mode);
  return mode;
}

template <class T>
T attribute(nb::handle error, const char* name, T otherwise) {
  T value = otherwise;
  return nb::try_cast(nb::getattr(error, name, nb::none()), value) ? value : otherwise;
}

// Throws the exception of C++ that the runner handles, where the exception of Python is one.
void throw_known(const nb::python_error& error) {
  const nb::module_ known = nb::module_::import_("cupel.exceptions");
  const auto is = [&](const char* name) { return error.matches(known.attr(name)); };
  const nb::handle value = error.value();
  const auto step = [&] { return attribute<std::int64_t>(value, "step", -1); };
  const auto tensor = [&] { return attribute<std::string>(value, "tname", ""); };
  if (is("StepUnavailable")) throw StepUnavailable(step(), mode_of(value));
  if (is("TensorUnavailable")) throw TensorUnavailable(tensor());
  const bool has_reductions = attribute(value, "has_reductions", false);
  if (is("ShapeUnavailableForStep"))
    throw ShapeUnavailableForStep(tensor(), step(), mode_of(value), has_reductions);
  if (is("TensorUnavailableForStep"))
    throw TensorUnavailableForStep(tensor(), step(), mode_of(value), has_reductions);
  if (is("DamagedValue"))
    throw DamagedValue(attribute<std::string>(value, "file", ""),
                       attribute<std::uint64_t>(value, "offset", 0),
                       nb::cast<std::string>(nb::str(value)));
  if (is("RuleEvaluationConditionMet"))
    throw RuleEvaluationConditionMet(attribute<std::string>(value, "rule_name", ""), step(),
                                     attribute(value, "end_of_rule", false));
}

// A store that fails for a moment may answer later: the runner asks the rule again.
void throw_retryable(const nb::python_error& error) {
  const nb::gil_scoped_acquire gil;
  const nb::handle value = error.value();
  if (!error.matches(nb::module_::import_("cupel.exceptions").attr("StoreError"))) return;
  if (attribute(value, "retryable", false))
    throw StoreError(attribute<std::string>(value, "key", ""), true,
                     nb::cast<std::string>(nb::str(value)),
                     attribute<std::string>(value, "location", ""));
}

// The rule of Python as a rule that a runner owns.
class HeldRule final : public Rule {
 public:
  HeldRule(std::shared_ptr<nb::object> rule, PythonRule& engine, std::shared_ptr<PythonTurn> turn)
      : Rule(engine.base_trial(), engine.other_trials()),
        rule_(std::move(rule)),
        engine_(engine),
        turn_(std::move(turn)) {}

  Verdict invoke_at_step(std::int64_t step) override {
    const PythonTurn::Scope scope(*turn_);
    try {
      return RuleEvaluation(engine_).at_step(step, RunFollower(base_trial()).snapshot());
    } catch (const nb::python_error& error) {
      throw_retryable(error);
      throw PythonError(text_of(error));
    }
  }
  std::string rule_name() const override { return engine_.rule_name(); }

 private:
  const std::shared_ptr<nb::object> rule_;  // keeps the engine
  PythonRule& engine_;
  const std::shared_ptr<PythonTurn> turn_;
};

}  // namespace

PythonRule::PythonRule(const TrialObject& base, const std::vector<TrialObject>& others,
                       nb::object rule)
    : Rule(base.trial(), pointers(others)), given_(with(base, others)), rule_(std::move(rule)) {
  views_.emplace_back(base_trial().view());
  for (const Trial* other : other_trials()) views_.emplace_back(other->view());
}

PythonRule::~PythonRule() {
  const nb::gil_scoped_acquire gil;
  rule_.reset();
}

nb::object PythonRule::rule() const {
  nb::object rule = rule_();
  if (rule.is_none()) throw UsageError("the rule of this engine is gone");
  return rule;
}

std::string PythonRule::rule_name() const {
  const nb::gil_scoped_acquire gil;
  return nb::cast<std::string>(nb::str(rule().attr("rule_name")));
}

void PythonRule::wait_for_step(std::int64_t step) const {
  constexpr std::chrono::milliseconds kBetweenSignals(50);
  while (true) {
    try {
      return base_trial().wait_for_steps({step}, Mode::Global, {.timeout = kBetweenSignals});
    } catch (const StepNotYetAvailable&) {
      const nb::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
}

Verdict PythonRule::invoke_at_step(std::int64_t step) {
  std::vector<std::unique_ptr<ViewPin>> pins;
  pins.push_back(std::make_unique<ViewPin>(views_.front(), base_trial(), step));
  for (std::size_t i = 0; i < other_trials().size(); ++i)
    pins.push_back(std::make_unique<ViewPin>(views_[i + 1], *other_trials()[i], std::nullopt));
  const nb::gil_scoped_acquire gil;  // ends before the pins do
  try {
    return ask(step);
  } catch (const nb::python_error& error) {
    throw_known(error);
    throw;
  }
}

// Called with the GIL held.
Verdict PythonRule::ask(std::int64_t step) const {
  const nb::object self = rule();
  const nb::object answer = self.attr("_judge")(step);
  Verdict verdict;
  if (PyBool_Check(answer.ptr())) {
    if (nb::cast<bool>(answer)) throw RuleEvaluationConditionMet(rule_name(), step);
    return verdict;
  }
  for (const nb::handle finding : answer)
    verdict.add({.tensor = nb::cast<std::string>(finding[0]),
                 .worker = nb::cast<std::string>(finding[1]),
                 .value = nb::cast<double>(finding[2]),
                 .threshold = nb::cast<double>(finding[3]),
                 .message = nb::cast<std::string>(finding[4])});
  return verdict;
}

PythonTurn::Scope::Scope(PythonTurn& turn)
    : turn_(turn), lock_(turn.mutex_), state_(PyGILState_Ensure()) {
  turn_.thread_ = PyThread_get_thread_ident();
  released_ = PyEval_SaveThread();
}

PythonTurn::Scope::~Scope() {
  PyEval_RestoreThread(released_);
  PyThreadState_SetAsyncExc(turn_.thread_, nullptr);  // of an interrupt that came too late
  turn_.thread_ = 0;
  PyGILState_Release(state_);
}

void PythonTurn::interrupt() const {
  if (!is_taken()) return;
  const nb::object type = nb::module_::import_("cupel.rules.rule").attr("RuleInterrupted");
  PyThreadState_SetAsyncExc(thread_, type.ptr());
}

std::unique_ptr<Rule> held_rule(nb::object rule, std::shared_ptr<PythonTurn> turn) {
  auto& engine = nb::cast<PythonRule&>(rule.attr("_engine"));
  return std::make_unique<HeldRule>(kept(std::move(rule)), engine, std::move(turn));
}

std::shared_ptr<nb::object> kept(nb::object object) {
  return {new nb::object(std::move(object)), [](const nb::object* held) {
            const nb::gil_scoped_acquire gil;
            delete held;
          }};
}

std::string text_of(const nb::python_error& error) {
  const nb::gil_scoped_acquire gil;
  try {
    return nb::cast<std::string>(
        nb::module_::import_("cupel.rules.rule").attr("error_text")(error.value()));
  } catch (const nb::python_error&) {
    return "an exception whose text cannot be read";
  }
}

}  // namespace cupel::python
