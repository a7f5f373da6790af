#include "rule_requirements.h"

#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "object_type.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

char type_key;
constexpr const char* kName = "req";
constexpr std::size_t kMost = 10'000;
constexpr std::int64_t kLooking = 10;

// What is behind a `req`.
struct Handle {
  Requirements* requirements;
  TrialObject* base;
};

// A step, or a list of them.
std::vector<std::int64_t> steps_argument(lua_State* lua, int argument) {
  if (!lua_istable(lua, argument)) return {check_step(lua, argument, "add")};
  std::vector<std::int64_t> steps;
  const lua_Unsigned size = lua_rawlen(lua, argument);
  if (size > kMost) throw UsageError("add: more than 10,000 steps");
  steps.reserve(size);
  for (lua_Unsigned i = 1; i <= size; ++i) {
    int is_integer = 0;
    lua_rawgeti(lua, argument, static_cast<lua_Integer>(i));
    steps.push_back(lua_tointegerx(lua, -1, &is_integer));
    lua_pop(lua, 1);
    if (is_integer == 0) throw UsageError("add: steps are whole numbers");
  }
  return steps;
}

}  // namespace

int Requirements::add(lua_State* lua) {
  const Handle& handle = *static_cast<Handle*>(check_object(lua, 1, &type_key, kName));
  std::string name(check_name(lua, 2, "add"));
  std::vector<std::int64_t> steps = steps_argument(lua, 3);
  const NamedArguments arguments(lua, 4, "add", {"trial", "regex"});
  const TrialObject* trial = handle.base;
  if (lua_istable(lua, 4) && lua_getfield(lua, 4, "trial") != LUA_TNIL)
    trial = &check_trial(lua, lua_gettop(lua));
  Requirements& self = *handle.requirements;
  auto& all = self.all_;
  if (all.size() == kMost) throw UsageError("add: more than 10,000 requirements");
  std::vector<std::string> tensors;
  if (arguments.boolean("regex").value_or(false))
    tensors = matching_names(lua, trial->trial.tensor_names(), {name});
  else
    tensors.push_back(std::move(name));
  std::size_t bytes = sizeof(Requirement) + steps.size() * sizeof steps.front();
  for (const std::string& tensor : tensors) bytes += sizeof(std::string) + tensor.size();
  LuaState::of(lua).hold(lua, bytes);
  self.held_ += bytes;
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(tensors.size() + steps.size()) + 1);
  all.push_back({trial, std::move(tensors), std::move(steps)});
  return 0;
}

void Requirements::clear(LuaState& state) noexcept {
  all_.clear();
  state.release(held_);
  held_ = 0;
}

void Requirements::add_type(lua_State* lua) {
  make_type(lua, &type_key, kName, {method<&Requirements::add>("add")});
}

void Requirements::push(lua_State* lua, TrialObject& base) {
  LuaState::of(lua).push_object(lua, std::make_shared<Handle>(Handle{this, &base}), &type_key);
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

}  // namespace cupel::lua
