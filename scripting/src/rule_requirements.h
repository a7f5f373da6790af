#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cupel/core/text_pattern.h"
#include "cupel/rules/verdict.h"
#include "trial_object.h"

namespace cupel::scripting_detail {

/// What a rule wants to be there before it judges a step: `req` of its function `required`.
class Requirements {
 public:
  /// Tensors of a trial that are to be there at these steps, or at any step where there are none.
  struct Requirement {
    const TrialObject* trial;
    std::vector<std::string> tensors;
    std::vector<std::int64_t> steps;
  };

  /// Makes the type of `req` known to a state.
  static void add_type(lua_State* lua);

  void clear(LuaState& state) noexcept;
  /// Pushes the object with which a script adds to them: req:add(tensor, steps, {trial =, regex
  /// =}).
  void push(lua_State* lua, TrialObject& base);
  /// Adds one, whose memory counts against the state's until clear().
  void add(lua_State* lua, Requirement added);
  /// Whether all of it is there; if not, `verdict` names the data of another run that is missing.
  /// Throws StepUnavailable, TensorUnavailable or TensorUnavailableForStep for what will never be.
  /// To be called through the door, since looking takes as long as the script has made it.
  bool are_met(lua_State* lua, const TrialObject& base, Verdict& verdict) const;

 private:
  std::vector<Requirement> all_;
  std::size_t held_ = 0;  // bytes of it, in the state
};

}  // namespace cupel::scripting_detail
