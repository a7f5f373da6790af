#include "scripting/script_attacks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "../../scripting/src/value_object.h"
#include "cupel/core/error.h"

namespace cupel::testing {

std::vector<Attack> attacks(const std::string& reason) {
  std::vector<Attack> all;
  for (const auto& entry : std::filesystem::directory_iterator(CUPEL_SCRIPT_ATTACKS)) {
    std::ifstream in(entry.path());
    Attack attack{entry.path().stem().string(), {}, {}};
    std::getline(in, attack.reason);
    const std::string head = "-- stopped by: ";
    if (attack.reason.starts_with(head)) attack.reason.erase(0, head.size());
    attack.text.assign(std::istreambuf_iterator<char>(in), {});
    if (reason.empty() || attack.reason == reason) all.push_back(std::move(attack));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

namespace {

std::string module_text(const std::string& name) {
  static const std::map<std::string, std::string> modules = {
      {"endless", "while true do end"},       {"library", "return {}"},
      {"itself", "return require('itself')"}, {"one", "return require('other')"},
      {"other", "return require('one')"},     {"bytecode", "\x1bLuaT"}};
  const auto found = modules.find(name);
  if (found == modules.end()) throw Error("there is no module " + name);
  return found->second;
}

scripting_detail::SandboxOptions options() {
  scripting_detail::SandboxOptions all;
  all.read_module = module_text;
  return all;
}

}  // namespace

AttackedScript::AttackedScript(const ScriptLimits& limits) : Script(limits, options()) {
  lua_State* const lua = state.get();
  lua_newtable(lua);
  scripting_detail::add_value_functions(lua);
  scripting_detail::LuaState::push_globals(lua);
  lua_insert(lua, -2);
  lua_pushliteral(lua, "cupel");
  lua_insert(lua, -2);
  lua_rawset(lua, -3);
  lua_settop(lua, 0);
}

}  // namespace cupel::testing
