#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/verdict.h"
#include "lua_state.h"

namespace cupel::scripting_detail {

/// What was read of a tensor, for people.
struct Reading {
  std::string what;      ///< "abs_mean (saved)"
  std::string got = {};  ///< "3.1e-09"
  std::string run = {};  ///< Of which it was read, where that is not the one that is judged.
};

/// What the functions that a rule calls have to do with the evaluation that goes on: whose verdict
/// it is, and which tensors were read for it.
class RuleContext {
 public:
  /// Begins an evaluation; `step` is -1 between steps.
  void begin(Verdict& verdict, std::int64_t step, bool explaining);
  /// Ends it, whatever came of it.
  void end() noexcept;
  /// Adds the observations to the verdict, with what was found of each.
  void explain();

  /// Throws UsageError where nothing is evaluated.
  Verdict& verdict() const;
  bool explaining() const noexcept { return explaining_; }
  std::int64_t step() const noexcept { return step_; }
  bool has_read() const noexcept { return has_read_; }
  /// Whether what was saved at a global step is what is judged: readings of other steps
  /// are no observations.
  bool is_judged(std::int64_t step) const noexcept { return step_ < 0 || step == step_; }

  /// The tensor that was asked for last.
  std::string_view last_tensor() const noexcept { return last_tensor_; }
  void set_last_tensor(std::string_view tensor) {
    if (last_tensor_ != tensor) set_last_tensor(kept_ = tensor, {}, 0);
  }
  /// The same of one worker's, with so many readings that were counted before. Both names live as
  /// long as the trial.
  void set_last_tensor(std::string_view tensor, std::string_view worker,
                       std::int64_t readings) noexcept {
    last_tensor_ = tensor;
    worker_ = worker;
    readings_ = readings;
  }

  /// Something of a tensor was read at the step that is judged: `reading()` describes it,
  /// where the rule is to explain. The worker's name lives as long as the trial.
  template <class F>
  void read(std::string_view tensor, std::string_view worker, F&& reading) {
    if (last_tensor_ != tensor)
      set_last_tensor(kept_ = tensor, worker, 0);
    else if (worker_ != worker)
      set_last_tensor(last_tensor_, worker, 0);
    ++readings_;
    read_ahead(tensor, worker, reading);
  }
  /// The same of a tensor that becomes the current one later.
  template <class F>
  void read_ahead(std::string_view tensor, std::string_view worker, F&& reading) {
    has_read_ = true;
    verdict().count(1);
    if (explaining_) observe(tensor, worker, reading());
  }
  /// Something was that does not count: of another step, or which tensors there are.
  void read_beside() noexcept { has_read_ = true; }
  /// A tensor could not be judged. What was read of it does not count, then.
  void skip(lua_State* lua, Skip skip);
  /// The same of another run's, beside what was read of the one that is judged.
  void skip_beside(lua_State* lua, Skip skip);
  /// An observation of the rule's own, in place of the readings of that tensor.
  void add_explanation(lua_State* lua, Observation observation);
  void add(lua_State* lua, Finding finding);

 private:
  // Counts what the verdict has from the script against the state's memory, until the end.
  void hold(lua_State* lua, std::size_t bytes);
  void observe(std::string_view tensor, std::string_view worker, Reading reading);
  void forget(const Skip& skip);
  void take_over_readings();

  Verdict* verdict_ = nullptr;
  std::int64_t step_ = -1;
  bool explaining_ = false;
  bool has_read_ = false;
  std::string_view last_tensor_;
  std::string_view worker_;    // whose it is, where that is known
  std::string kept_;           // of a name that does not live long enough
  std::int64_t readings_ = 0;  // of it
  std::vector<Observation> observations_;
  std::vector<Observation> of_other_runs_;
  std::vector<Observation> explained_;
  LuaState* holder_ = nullptr;
  std::size_t held_ = 0;
};

}  // namespace cupel::scripting_detail
