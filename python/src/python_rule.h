#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/rules/rule.h"
#include "trial_object.h"

namespace cupel::python {

/// A rule in Python ended with an exception; the message has its traceback.
struct PythonError : Error {
  using Error::Error;
};

/// The engine of a rule in Python: the class `_native.RuleEngine`, a part of `cupel.rules.Rule`.
///
/// The rule of Python reads through views of its own, views(), which are pinned exactly as
/// base_trial() and other_trials() are while a step is judged. Exceptions of Python that skip a
/// step, or that report a firing, come out as those of C++; every other one as nb::python_error.
class PythonRule final : public Rule {
 public:
  /// `rule` is a weak reference to the rule of Python, which owns this object.
  PythonRule(const TrialObject& base, const std::vector<TrialObject>& others,
             nanobind::object rule);
  ~PythonRule() override;

  Verdict invoke_at_step(std::int64_t step) override;
  std::string rule_name() const override;
  /// The views of the base trial, then of the other trials.
  const std::vector<TrialObject>& views() const noexcept { return views_; }

 protected:
  /// Lets handlers of signals run, so that KeyboardInterrupt ends the waiting.
  void wait_for_step(std::int64_t step) const override;

 private:
  nanobind::object rule() const;
  Verdict ask(std::int64_t step) const;
  const std::vector<TrialObject> given_;  // which the views borrow from
  std::vector<TrialObject> views_;
  nanobind::object rule_;
};

/// The turn of the rules in Python of one runner: one rule at a time judges, whatever the number
/// of threads.
class PythonTurn {
 public:
  /// The thread has the turn as long as the object lives. Made and destroyed without the GIL.
  class Scope {
   public:
    explicit Scope(PythonTurn& turn);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PythonTurn& turn_;
    const std::lock_guard<std::mutex> lock_;
    PyGILState_STATE state_;
    PyThreadState* released_;
  };

  // With the GIL held:
  bool is_taken() const noexcept { return thread_ != 0; }
  /// Raises cupel.rules.RuleInterrupted in the rule that has the turn, at its next instruction of
  /// Python. Code that waits outside of Python is not interrupted.
  void interrupt() const;

 private:
  std::mutex mutex_;
  unsigned long thread_ = 0;  // under the GIL
};

/// Makes a rule that a runner can own and that asks `engine`, the engine of `rule`. Called with the
/// GIL held.
std::unique_ptr<Rule> held_rule(nanobind::object rule, std::shared_ptr<PythonTurn> turn);

/// Keeps an object of Python for code that has no GIL when it lets the object go.
std::shared_ptr<nanobind::object> kept(nanobind::object object);

/// The text of an exception with its traceback. Takes the GIL.
std::string text_of(const nanobind::python_error& error);

}  // namespace cupel::python
