// A rule whose functions are a script's. The table `self`, the trial and the functions of the rule
// live in the registry of the state, which the rule owns; each call of the runner is one call
// through the door of LuaState, with fresh limits. One thread calls a rule at a time.
//
// An error of the script comes out as ScriptError, with the source line, the step, and the tensor
// that the script asked for last. Missing data and damaged values that the script let through come
// out as they are, so that the runner skips the step as for a rule in C++.

#include "lua_rule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "rule_parameters.h"
#include "rule_self.h"

namespace cupel::scripting_detail {
namespace {

// Keys of the registry: their addresses are the keys.
char self_key;
char trial_key;
char invoke_key;
char required_key;
char tick_key;
char end_key;

// Keeps the function `name` of the definition on top under `key`; returns whether there is one.
bool keep_function(lua_State* lua, const char* name, const void* key) {
  lua_pushstring(lua, name);
  const bool is_there = lua_rawget(lua, -2) == LUA_TFUNCTION;
  lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
  return is_there;
}

// Pushes the values that are kept under the keys.
void push_kept(lua_State* lua, std::initializer_list<const void*> keys) {
  for (const void* key : keys) lua_rawgetp(lua, LUA_REGISTRYINDEX, key);
}

// The error of an unknown tensor, with the names that may have been meant.
struct MisspeltTensor final : TensorUnavailable {
  MisspeltTensor(const TensorUnavailable& error, const std::string& question)
      : TensorUnavailable(error), message(error.what() + question) {}
  const char* what() const noexcept override { return message.c_str(); }
  std::string message;
};

std::vector<Trial*> pointers(const std::vector<std::unique_ptr<Trial>>& trials) {
  std::vector<Trial*> all;
  all.reserve(trials.size());
  for (const auto& trial : trials) all.push_back(trial.get());
  return all;
}

}  // namespace

LuaRule::LuaRule(std::unique_ptr<RuleScript> script, std::size_t rule, RuleNeeds needs, Trial& base,
                 const ParameterValues& values, std::vector<std::unique_ptr<Trial>> others)
    : Rule(base, pointers(others)),
      others_(std::move(others)),
      script_(std::move(script)),
      rule_(rule),
      needs_(std::move(needs)) {
  for (const TensorNeed& need : needs_.tensors)
    needed_.emplace_back(need.tensors.collections, need.tensors.patterns);
  trials_.push_back(std::make_unique<TrialObject>(base_trial(), context_, false));
  for (const Trial* other : other_trials())
    trials_.push_back(std::make_unique<TrialObject>(*other, context_, true));
  script_->begin(declared().definition.name);
  make_self(values);
}

void LuaRule::make_self(const ParameterValues& values) {
  script_->protect([&](lua_State* lua) {
    lua_createtable(lua, 0, 4);
    push_parameters(lua, declared(), values);
    lua_setfield(lua, -2, "params");
    push_string(lua, declared().definition.name);
    lua_setfield(lua, -2, "name");
    push_trial(lua, *trials_.front());
    lua_pushvalue(lua, -1);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &trial_key);
    lua_setfield(lua, -2, "trial");
    lua_newtable(lua);
    for (std::size_t i = 1; i < trials_.size(); ++i) {
      push_trial(lua, *trials_[i]);
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i));
    }
    lua_setfield(lua, -2, "other_trials");
    push_self_methods(lua, context_);
    lua_newtable(lua);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &self_key);
    script_->push_definition(rule_);
    keep_function(lua, "invoke_at_step", &invoke_key);
    requires_data_ = keep_function(lua, "required", &required_key);
    has_tick_ = keep_function(lua, "on_tick", &tick_key);
    has_end_ = keep_function(lua, "on_end", &end_key);
  });
}

template <class Call>
Verdict LuaRule::judge(std::int64_t step, Call&& call) {
  struct Evaluation {
    RuleContext& context;
    ~Evaluation() { context.end(); }
  };
  Verdict verdict;
  const Evaluation evaluation{context_};
  context_.begin(verdict, step, explaining());
  try {
    call(verdict);
  } catch (const ScriptError& error) {
    rethrow(error);
  } catch (const UnknownTensor& error) {
    throw MisspeltTensor(error, error.question());
  }
  context_.explain();
  return verdict;
}

Verdict LuaRule::invoke_at_step(std::int64_t step) {
  return judge(step, [&](Verdict& verdict) {
    if (!has_required(step, verdict)) return;
    lua_State* const lua = script_->state().get();
    push_kept(lua, {&invoke_key, &self_key, &trial_key});
    lua_pushinteger(lua, step);
    script_->state().call(3, 1, script_->source().chunk());
    const bool returned_true = lua_toboolean(lua, -1) != 0;
    lua_pop(lua, 1);
    if (returned_true && !verdict.fired())
      throw ScriptError(script_->source().chunk(), 0,
                        "invoke_at_step returned true and found nothing: findings are recorded by "
                        "self:issue{tensor = ..., value = ...}");
    explain_silence(step, verdict);
  });
}

// Adds the reason to the verdict where the rule judged nothing and gave no reason itself.
void LuaRule::explain_silence(std::int64_t step, Verdict& verdict) {
  const bool has_result = verdict.datapoints() > 0 || verdict.remembered() > 0 || verdict.fired() ||
                          !verdict.applicable() || !verdict.skips().empty() ||
                          !verdict.why_to_ask_again().empty();
  if (has_result) return;
  std::string missing;
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    if (base_trial().visit_step(step, needed_[i], [](const RecordView&) {}) > 0) {
      missing.clear();
      break;
    }
    missing += (i == 0 ? "nothing of " : " and ") + needs_.tensors[i].tensors.description();
  }
  if (!missing.empty())
    verdict.not_applicable(missing + " was saved at this step");
  else if (!context_.has_read())
    verdict.not_applicable("the rule read nothing of this step");
}

std::string LuaRule::what_it_reads() const {
  return needs_.tensors.empty() ? Rule::what_it_reads() : describe(needs_);
}

Verdict LuaRule::on_tick(std::chrono::steady_clock::time_point now) {
  if (!has_tick_) return {};
  if (!first_tick_) first_tick_ = now;
  const std::chrono::duration<double> since = now - *first_tick_;
  return judge(-1, [&](Verdict&) {
    lua_State* const lua = script_->state().get();
    push_kept(lua, {&tick_key, &self_key});
    lua_pushnumber(lua, since.count());
    script_->state().call(2, 0, script_->source().chunk());
  });
}

Verdict LuaRule::on_end() {
  if (!has_end_) return {};
  return judge(-1, [&](Verdict&) {
    lua_State* const lua = script_->state().get();
    push_kept(lua, {&end_key, &self_key});
    script_->state().call(1, 0, script_->source().chunk());
  });
}

bool LuaRule::has_required(std::int64_t step, Verdict& verdict) {
  if (!requires_data_) return true;
  requirements_.clear(script_->state());
  bool are_met = false;
  std::exception_ptr missing;
  script_->protect([&](lua_State* lua) {
    push_kept(lua, {&required_key, &self_key});
    lua_pushinteger(lua, step);
    requirements_.push(lua, *trials_.front());
    lua_call(lua, 3, 0);
    try {
      are_met = requirements_.are_met(lua, *trials_.front(), verdict);
    } catch (const Error&) {  // is no error of the script
      missing = std::current_exception();
    }
  });
  if (missing) std::rethrow_exception(missing);
  return are_met;
}

// Adds the source line, and the step and tensor that were being judged.
void LuaRule::rethrow(const ScriptError& error) const {
  std::string problem = error.problem;
  if (const std::string line = script_->source().line(error.chunk, error.line); !line.empty())
    problem += ", in \"" + line + "\"";
  if (context_.step() >= 0) problem += ", at step " + std::to_string(context_.step());
  if (!context_.last_tensor().empty())
    problem.append(", looking at ").append(context_.last_tensor());
  throw ScriptError(error.chunk, error.line, problem, error.limit, error.traceback);
}

}  // namespace cupel::scripting_detail
