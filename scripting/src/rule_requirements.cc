// What a rule requires of a step before it is judged: the function `required` and its `req`.
//
// The script adds names and steps, which count against its memory and its instructions. are_met()
// then asks the trials. Data that will never be there is an exception of the query; data of another
// run that is still to come makes the runner ask the rule again. The thread that asks the rule
// runs it.

#include "rule_requirements.h"

#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "sol_binding.h"

namespace cupel::scripting_detail {

// What a script's `req` refers to.
struct RequirementsHandle {
  Requirements* requirements;
  TrialObject* base;
};

template <>
struct ObjectType<RequirementsHandle> {
  static constexpr const char* kName = "req";
};

namespace {

constexpr std::size_t kMost = 10'000;
constexpr std::int64_t kLooking = 10;

// A step, or a list of them.
struct StepsArgument {
  std::vector<std::int64_t> steps;
  static StepsArgument from_lua(lua_State* lua, int place) {
    if (!lua_istable(lua, place)) return {{read_argument<std::int64_t>(lua, place, "step")}};
    StepsArgument list;
    const lua_Unsigned size = lua_rawlen(lua, place);
    if (size > kMost) throw UsageError("add: more than 10,000 steps");
    list.steps.reserve(size);
    for (lua_Unsigned i = 1; i <= size; ++i) {
      int is_integer = 0;
      lua_rawgeti(lua, place, static_cast<lua_Integer>(i));
      list.steps.push_back(lua_tointegerx(lua, -1, &is_integer));
      lua_pop(lua, 1);
      if (is_integer == 0) throw UsageError("add: steps are whole numbers");
    }
    return list;
  }
};

// req:add(tensor, steps, {trial =, regex =})
void add_requirement(RequirementsHandle& req, Argument<std::string_view, "name"> name,
                     StepsArgument steps, TableArgument table) {
  const NamedArguments arguments = table.read({"trial", "regex"});
  const TrialObject* trial = req.base;
  if (arguments.push("trial")) trial = &check_object<TrialObject>(table.lua, -1);
  std::vector<std::string> tensors;
  if (arguments.boolean("regex").value_or(false))
    tensors = matching_names(table.lua, trial->trial.tensor_names(), {std::string(*name)});
  else
    tensors.emplace_back(*name);
  req.requirements->add(table.lua, {trial, std::move(tensors), std::move(steps.steps)});
}

}  // namespace

void Requirements::add(lua_State* lua, Requirement added) {
  if (all_.size() == kMost) throw UsageError("add: more than 10,000 requirements");
  std::size_t bytes = sizeof added + added.steps.size() * sizeof(std::int64_t);
  for (const std::string& tensor : added.tensors) bytes += sizeof(std::string) + tensor.size();
  LuaState::of(lua).hold(lua, bytes);
  held_ += bytes;
  LuaState::of(lua).charge(
      lua, static_cast<std::int64_t>(added.tensors.size() + added.steps.size()) + 1);
  all_.push_back(std::move(added));
}

void Requirements::clear(LuaState& state) noexcept {
  all_.clear();
  state.release(held_);
  held_ = 0;
}

void Requirements::add_type(lua_State* lua) {
  register_type<RequirementsHandle>(lua, method<&add_requirement>("add"));
}

void Requirements::push(lua_State* lua, TrialObject& base) {
  push_object(lua, std::make_shared<RequirementsHandle>(RequirementsHandle{this, &base}));
}

bool Requirements::are_met(lua_State* lua, const TrialObject& base, Verdict& verdict) const {
  LuaState& state = LuaState::of(lua);
  for (const Requirement& required : all_) {
    const Trial& trial = required.trial->trial;
    for (const std::int64_t step : required.steps) {
      state.charge(lua, kLooking);
      switch (trial.has_passed_step(step)) {
        case StepState::Available:
          break;
        case StepState::Unavailable:
          throw StepUnavailable(step, Mode::Global);
        case StepState::NotYetAvailable:
          if (required.trial == &base) throw StepNotYetAvailable(step, Mode::Global);
          if (trial.ended()) throw StepUnavailable(step, Mode::Global);
          verdict.ask_again("step " + std::to_string(step) + " of " + trial.name());
          return false;
      }
      for (const std::string& name : required.tensors) {
        state.charge(lua, kLooking);
        if (tensor_of(trial, name).records(step).empty())
          throw TensorUnavailableForStep(name, step, Mode::Global, false);
      }
    }
    for (const std::string& name : required.tensors)
      if (required.steps.empty()) static_cast<void>(tensor_of(trial, name));
  }
  return true;
}

}  // namespace cupel::scripting_detail
