// A run as scripts see it: the methods of `trial`, and selections of its tensors by name.
//
// Each method asks the trial's index, which counts as 20 instructions. Names of a step are found by
// a selection that is kept from step to step, and become texts of Lua once. Patterns of scripts are
// searched with a limit of attempts. The thread that asks the rule runs it; exceptions of queries
// become errors of the script.

#include "trial_object.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "sol_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kCompiling = 1000;
constexpr std::size_t kMostPatterns = 32;
constexpr std::size_t kPerKnownName = 64;  // bytes
constexpr std::size_t kMostSelections = 16;
constexpr std::size_t kPerText = 128;  // bytes, of a text and what is kept with it

// Of the table of texts that were made of names once, by their addresses.
char names_key;

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

// A trial that a script asks about its index, which is counted.
struct AskedTrial {
  TrialObject& object;
  const Trial* operator->() const noexcept { return &object.trial; }
  static AskedTrial from_lua(lua_State* lua, int place) {
    LuaState::of(lua).charge(lua, kQuery);
    return {check_object<TrialObject>(lua, place)};
  }
};

using NameArgument = Argument<std::string_view, "name">;

std::string_view trial_name(AskedTrial asked) { return asked->name(); }

// Names of tensors: of the trial, which live as long as it, or texts.
struct NameList {
  std::vector<const std::string*> names;
  TextList texts;
  int push(lua_State* lua) const {
    if (names.empty()) return texts.push(lua);
    push_known_names(lua);
    const int known = lua_gettop(lua);
    lua_createtable(lua, static_cast<int>(std::min(names.size(), std::size_t{1} << 20U)), 0);
    for (std::size_t i = 0; i < names.size(); ++i) {
      push_known_name(lua, known, names[i], *names[i]);
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
    }
    return 1;
  }
};

// With a step, most scripts ask at every step, and get the same names.
NameList tensor_names(AskedTrial asked, TableArgument table) {
  const NamedArguments arguments = table.read({"step", "mode", "regex", "collection"});
  const Trial& trial = asked.object.trial;
  TensorQuery query{.step = arguments.integer("step"), .mode = arguments.mode()};
  if (const auto collection = arguments.text("collection")) query.collection = *collection;
  const std::vector<std::string> texts = arguments.texts("regex");
  if (!texts.empty() && !query.collection.empty())
    throw UsageError("tensor_names: regex and collection exclude each other");
  if (!query.step)
    return {{},
            {texts.empty() ? trial.tensor_names(query)
                           : matching_names(table.lua, trial.tensor_names(query), texts)}};
  NameList list;
  std::vector<std::string> collections;
  if (!query.collection.empty()) collections.push_back(query.collection);
  LuaState& state = LuaState::of(table.lua);
  selection_of(table.lua, asked.object, std::move(collections), texts)
      .visit_step(table.lua, trial, *query.step, query.mode, [&](const RecordView& record) {
        state.charge(table.lua, 1);
        if (!list.names.empty() && list.names.back() == &record.tensor()) return;  // of a worker
        list.names.push_back(&record.tensor());
      });
  return list;
}

bool has_tensor(AskedTrial asked, NameArgument name) { return asked->has_tensor(*name); }

IntegerList trial_steps(AskedTrial asked, ModeArgument mode) { return {asked->steps(mode)}; }

TextList modes(AskedTrial asked) {
  std::vector<std::string> names;
  for (const Mode mode : asked->modes()) names.emplace_back(to_string(mode));
  return {std::move(names)};
}

std::optional<std::string_view> mode(AskedTrial asked, StepArgument step) {
  if (const auto mode = asked->mode(step)) return to_string(*mode);
  return std::nullopt;
}

std::optional<std::int64_t> mode_step(AskedTrial asked, StepArgument step) {
  return asked->mode_step(step);
}

std::optional<std::int64_t> global_step(AskedTrial asked, Argument<std::string_view, "mode"> mode,
                                        StepArgument step) {
  return asked->global_step(parse_mode(shortened(mode)), step);
}

std::int64_t last_complete_step(AskedTrial asked) { return asked->last_complete_step(); }

TextList trial_workers(AskedTrial asked) { return {asked->workers()}; }

TextList missing_workers(AskedTrial asked, StepArgument step) {
  return {asked->missing_workers(step)};
}

// A collection as a table; its lists are empty where the run does not have it.
struct CollectionTable {
  Collection collection;
  int push(lua_State* lua) const {
    const auto names = collection.tensor_names();
    const NewTable record(lua, 3);
    record.set("name", collection.name());
    record.set("tensor_names", TextList{{names.begin(), names.end()}});
    record.set("include_regex", TextList{collection.include_regex().texts()});
    return 1;
  }
};

CollectionTable collection(AskedTrial asked, NameArgument name) {
  return {asked->collection(std::string(*name))};
}

TextList collections(AskedTrial asked) { return {asked->collection_names()}; }

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
  LuaState::of(lua).charge(lua, 1);
  const auto entry = known_.find(&name);
  if (entry != known_.end()) return entry->second;
  const bool found = is_found(lua, patterns_, name);
  held_.add(lua, kPerKnownName);
  known_.emplace(&name, found);
  return found;
}

ScriptSelection& selection_of(lua_State* lua, TrialObject& trial,
                              std::vector<std::string> collections,
                              const std::vector<std::string>& patterns) {
  std::string key;
  for (const std::string& collection : collections) key.append(collection).push_back('\n');
  for (const std::string& pattern : patterns)
    key += std::to_string(pattern.size()) + '\n' + pattern;
  const auto entry = trial.selections.find(key);
  if (entry != trial.selections.end()) return entry->second;
  if (trial.selections.size() >= kMostSelections) trial.selections.clear();
  Held held(lua, 2 * key.size() + kPerText * (collections.size() + patterns.size() + 1));
  std::vector<TextPattern> compiled = compile_patterns(lua, patterns, held);
  ScriptSelection made(std::move(held), std::move(collections), std::move(compiled));
  return trial.selections.emplace(std::move(key), std::move(made)).first->second;
}

void push_known_names(lua_State* lua) {
  if (lua_rawgetp(lua, LUA_REGISTRYINDEX, &names_key) == LUA_TTABLE) return;
  lua_pop(lua, 1);
  lua_newtable(lua);
  lua_pushvalue(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &names_key);
}

void push_known_name(lua_State* lua, int known, const void* address, std::string_view name) {
  if (lua_rawgetp(lua, known, address) == LUA_TSTRING) return;
  lua_pop(lua, 1);
  push_string(lua, name);
  lua_pushvalue(lua, -1);
  lua_rawsetp(lua, known, address);
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
  register_type<TrialObject>(
      lua, method<&trial_name>("name"), method<&tensor_names>("tensor_names"),
      method<&trial_tensor>("tensor"), method<&has_tensor>("has_tensor"),
      method<&trial_steps>("steps"), method<&modes>("modes"), method<&mode>("mode"),
      method<&mode_step>("mode_step"), method<&global_step>("global_step"),
      method<&last_complete_step>("last_complete_step"), method<&trial_workers>("workers"),
      method<&missing_workers>("missing_workers"), method<&collection>("collection"),
      method<&collections>("collections"), method<&trial_each>("each"));
  add_tensor_type(lua);
}

void push_trial(lua_State* lua, TrialObject& object) {
  push_reference(lua, object, 1);
  // Tensors that were asked for, by name.
  lua_newtable(lua);
  lua_setiuservalue(lua, -2, 1);
}

}  // namespace cupel::scripting_detail
