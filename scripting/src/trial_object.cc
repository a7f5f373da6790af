#include "trial_object.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "object_type.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

char trial_key;
constexpr const char* kTrialName = "trial";
constexpr std::int64_t kCompiling = 1000;
constexpr std::size_t kMostPatterns = 32;
constexpr std::size_t kPerKnownName = 64;  // bytes

const Trial& trial_of(lua_State* lua) {
  LuaState::of(lua).charge(lua, kQuery);
  return check_trial(lua, 1).trial;
}

bool is_found(lua_State* lua, const std::vector<TextPattern>& patterns, const std::string& name) {
  LuaState& state = LuaState::of(lua);
  state.charge(lua, 1);
  const TextPattern::Search how{.go_on = [&state] { return state.may_go_on(1); }};
  std::vector<TextPattern::Range> ignored;
  for (const TextPattern& pattern : patterns) {
    switch (pattern.search(name, how, ignored)) {
      case TextPattern::Outcome::Found:
        return true;
      case TextPattern::Outcome::NotFound:
        break;
      case TextPattern::Outcome::LimitReached:
        throw UsageError("regex: a pattern takes too many attempts in the name " + name);
      case TextPattern::Outcome::Interrupted:
        state.raise_limit(lua);
    }
  }
  return false;
}

int trial_name(lua_State* lua) {
  push_string(lua, trial_of(lua).name());
  return 1;
}

int tensor_names(lua_State* lua) {
  const Trial& trial = trial_of(lua);
  const NamedArguments arguments(lua, 2, "tensor_names", {"step", "mode", "regex", "collection"});
  TensorQuery query{.step = arguments.integer("step"), .mode = arguments.mode()};
  if (const auto collection = arguments.text("collection")) query.collection = *collection;
  const std::vector<std::string> texts = arguments.texts("regex");
  if (!texts.empty() && !query.collection.empty())
    throw UsageError("tensor_names: regex and collection exclude each other");
  push_list(lua, texts.empty() ? trial.tensor_names(query)
                               : matching_names(lua, trial.tensor_names(query), texts));
  return 1;
}

int tensor(lua_State* lua) {
  TrialObject& object = check_trial(lua, 1);
  push_tensor(lua, object);
  return 1;
}

int has_tensor(lua_State* lua) {
  lua_pushboolean(lua, trial_of(lua).has_tensor(check_name(lua, 2, "has_tensor")) ? 1 : 0);
  return 1;
}

int trial_steps(lua_State* lua) {
  push_list(lua, trial_of(lua).steps(mode_argument(lua, 2)));
  return 1;
}

int modes(lua_State* lua) {
  std::vector<std::string> names;
  for (const Mode mode : trial_of(lua).modes()) names.emplace_back(to_string(mode));
  push_list(lua, names);
  return 1;
}

int mode(lua_State* lua) {
  const auto mode = trial_of(lua).mode(check_step(lua, 2, "mode"));
  if (mode)
    push_string(lua, to_string(*mode));
  else
    lua_pushnil(lua);
  return 1;
}

int push_number(lua_State* lua, const std::optional<std::int64_t>& number) {
  if (number)
    lua_pushinteger(lua, *number);
  else
    lua_pushnil(lua);
  return 1;
}

int mode_step(lua_State* lua) {
  return push_number(lua, trial_of(lua).mode_step(check_step(lua, 2, "mode_step")));
}

int global_step(lua_State* lua) {
  const Trial& trial = trial_of(lua);
  check_name(lua, 2, "global_step", "mode");
  return push_number(lua,
                     trial.global_step(mode_argument(lua, 2), check_step(lua, 3, "global_step")));
}

int last_complete_step(lua_State* lua) {
  lua_pushinteger(lua, trial_of(lua).last_complete_step());
  return 1;
}

int trial_workers(lua_State* lua) {
  push_list(lua, trial_of(lua).workers());
  return 1;
}

int missing_workers(lua_State* lua) {
  push_list(lua, trial_of(lua).missing_workers(check_step(lua, 2, "missing_workers")));
  return 1;
}

// {name, tensor_names, include_regex}; empty lists for one that the run does not have.
int collection(lua_State* lua) {
  const Collection found = trial_of(lua).collection(check_name(lua, 2, "collection"));
  lua_createtable(lua, 0, 3);
  push_string(lua, found.name());
  lua_setfield(lua, -2, "name");
  push_list(lua,
            std::vector<std::string>(found.tensor_names().begin(), found.tensor_names().end()));
  lua_setfield(lua, -2, "tensor_names");
  push_list(lua, found.include_regex().texts());
  lua_setfield(lua, -2, "include_regex");
  return 1;
}

int collections(lua_State* lua) {
  push_list(lua, trial_of(lua).collection_names());
  return 1;
}

}  // namespace

UnknownTensor::UnknownTensor(const std::string& tensor, const Trial& run)
    : TensorUnavailable(tensor), trial(&run) {}

std::string UnknownTensor::question() const {
  // A script may ask at every step, outside its limit of instructions.
  constexpr std::size_t kMostNames = 2000;
  const std::vector<std::string> names = trial->tensor_names();
  return names.size() <= kMostNames ? did_you_mean(name, names) : std::string();
}

Tensor tensor_of(const Trial& trial, std::string_view name) {
  if (std::optional<Tensor> found = trial.find_tensor(name)) return *std::move(found);
  throw UnknownTensor(std::string(name), trial);
}

ScriptSelection::ScriptSelection(Held held, std::vector<std::string> collections,
                                 std::vector<TextPattern> patterns)
    : held_(std::move(held)),
      of_collections_(std::move(collections)),
      patterns_(std::move(patterns)) {}

void ScriptSelection::visit_step(lua_State* lua, const Trial& trial, std::int64_t step, Mode mode,
                                 const Trial::RecordVisitor& visit) {
  if (patterns_.empty()) {
    trial.visit_step(step, of_collections_, visit, mode);
    return;
  }
  std::unordered_set<const std::string*> listed;
  if (!of_collections_.collections().empty())
    trial.visit_step(
        step, of_collections_, [&](const RecordView& record) { listed.insert(&record.tensor()); },
        mode);
  trial.visit_step(
      step, all_,
      [&](const RecordView& record) {
        if (listed.contains(&record.tensor()) || has(lua, record.tensor())) visit(record);
      },
      mode);
}

bool ScriptSelection::has(lua_State* lua, const std::string& name) {
  const auto entry = known_.find(&name);
  if (entry != known_.end()) return entry->second;
  const bool found = is_found(lua, patterns_, name);
  held_.add(lua, kPerKnownName);
  known_.emplace(&name, found);
  return found;
}

std::vector<TextPattern> compile_patterns(lua_State* lua, const std::vector<std::string>& texts,
                                          Held& held) {
  if (texts.size() > kMostPatterns)
    throw UsageError("regex: more than 32 patterns; one may have alternatives, a|b");
  std::vector<TextPattern> patterns;
  for (const std::string& text : texts) {
    LuaState::of(lua).charge(lua, kCompiling);
    held.add(lua, patterns.emplace_back(text).bytes());
  }
  return patterns;
}

std::vector<std::string> matching_names(lua_State* lua, std::vector<std::string> names,
                                        const std::vector<std::string>& patterns) {
  Held held(lua, 0);
  const std::vector<TextPattern> all = compile_patterns(lua, patterns, held);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return !is_found(lua, all, name); }),
              names.end());
  return names;
}

void add_trial_types(lua_State* lua) {
  make_type(
      lua, &trial_key, kTrialName,
      {method<trial_name>("name"), method<tensor_names>("tensor_names"), method<tensor>("tensor"),
       method<has_tensor>("has_tensor"), method<trial_steps>("steps"), method<modes>("modes"),
       method<mode>("mode"), method<mode_step>("mode_step"), method<global_step>("global_step"),
       method<last_complete_step>("last_complete_step"), method<trial_workers>("workers"),
       method<missing_workers>("missing_workers"), method<collection>("collection"),
       method<collections>("collections"), method<trial_each>("each")});
  add_tensor_type(lua);
}

void push_trial(lua_State* lua, TrialObject& object) {
  LuaState::push_reference(lua, &object, &trial_key, 1);
  // Tensors that were asked for, by name.
  lua_newtable(lua);
  lua_setiuservalue(lua, -2, 1);
}

TrialObject& check_trial(lua_State* lua, int argument) {
  return *static_cast<TrialObject*>(check_object(lua, argument, &trial_key, kTrialName));
}

}  // namespace cupel::lua
