// The tables of docs/lua.md name all that scripts can call, and nothing else: the types themselves
// are asked.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../../scripting/src/rule_requirements.h"
#include "../../scripting/src/rule_script.h"
#include "../../scripting/src/rule_source.h"
#include "../../scripting/src/trial_object.h"
#include "../../scripting/src/value_object.h"
#include "cupel/core/error.h"
#include "cupel/cupel.h"
#include "cupel/store/memory_store.h"
#include "markdown.h"
#include "scratch.h"
#include "trial/run_builder.h"

namespace {

namespace fs = std::filesystem;
namespace scripting_detail = cupel::scripting_detail;

using Names = std::set<std::string>;

const fs::path kDocument = fs::path(CUPEL_SOURCE_DIR) / "docs" / "lua.md";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9'); }

// The names that stand behind `before` in a text: "steps" of "`trial:steps(mode)`".
void add_names_behind(std::string_view before, const std::string& text, Names& names) {
  for (std::size_t at = text.find(before); at != std::string::npos;
       at = text.find(before, at + 1)) {
    std::size_t end = at + before.size();
    while (end < text.size() && is_letter(text[end])) ++end;
    names.insert(text.substr(at + before.size(), end - at - before.size()));
  }
}

// The names behind `before` in the first cells of tables.
Names documented(const std::vector<std::string_view>& headings, std::string_view before) {
  Names names;
  for (const std::string_view heading : headings) {
    const auto rows = cupel_docs::table_of(kDocument, heading);
    EXPECT_FALSE(rows.empty()) << "no table of " << heading;
    for (const auto& row : rows)
      for (const std::string& code : cupel_docs::quoted_in(row.front()))
        add_names_behind(before, code, names);
  }
  return names;
}

// What is quoted in the first cells of a table.
Names keys_of(std::string_view heading) {
  Names names;
  for (const auto& row : cupel_docs::table_of(kDocument, heading))
    for (const std::string& code : cupel_docs::quoted_in(row.front())) names.insert(code);
  return names;
}

// A run with one tensor, and a state in which a file of rules was run.
class LuaReference : public ::testing::Test {
 protected:
  LuaReference() {
    cupel::testing::WorkerWriter(*store_).save(0, {cupel::testing::raw("w", {1, 2})});
    trial_ = std::make_unique<cupel::Trial>(store_);
    object_ = std::make_unique<scripting_detail::TrialObject>(*trial_, context_, false);
    script_ = load("return cupel.rule { name = 'Empty', invoke_at_step = function() end }");
  }

  std::unique_ptr<scripting_detail::RuleScript> load(const std::string& text) {
    std::ofstream("rule.lua", std::ios::binary) << text;
    return std::make_unique<scripting_detail::RuleScript>(
        std::make_shared<scripting_detail::RuleSource>("rule.lua", cupel::ScriptLimits{}));
  }

  // The names of the functions in a table of the script's that `push` pushes.
  Names functions_in(const std::function<void(lua_State*)>& push) {
    Names names;
    script_->protect([&](lua_State* state) {
      push(state);
      ASSERT_EQ(lua_type(state, -1), LUA_TTABLE);
      const int table = lua_gettop(state);
      lua_pushnil(state);
      while (lua_next(state, table) != 0) {
        if (lua_isfunction(state, -1)) names.insert(lua_tostring(state, -2));
        lua_pop(state, 1);
      }
    });
    return names;
  }

  // The table of methods of the object that `push` pushes.
  Names methods_of(const std::function<void(lua_State*)>& push) {
    return functions_in([&](lua_State* state) {
      push(state);
      lua_getmetatable(state, -1);
      lua_pushliteral(state, "__index");
      lua_rawget(state, -2);
      // A value's is a function, whose second upvalue they are.
      if (lua_isfunction(state, -1)) lua_getupvalue(state, -1, 2);
    });
  }

  // The keys that a message lists: "…; it knows name, summary".
  static Names known_in(const std::string& message) {
    constexpr std::string_view kBefore = "it knows ";
    const std::size_t begin = message.find(kBefore) + kBefore.size();
    std::istringstream list(message.substr(begin));
    Names names;
    for (std::string name; std::getline(list >> std::ws, name, ',');) names.insert(name);
    return names;
  }
  // The keys in the first error of a file that uses another one.
  Names known_to(const std::string& text) {
    std::ofstream("mistake.lua", std::ios::binary) << text;
    return known_in(cupel::read_lua_rules("mistake.lua").errors.at(0).message);
  }

  cupel_docs::Scratch scratch_;
  std::shared_ptr<cupel::MemoryStore> store_ = std::make_shared<cupel::MemoryStore>();
  std::unique_ptr<cupel::Trial> trial_;
  scripting_detail::RuleContext context_;
  std::unique_ptr<scripting_detail::TrialObject> object_;
  std::unique_ptr<scripting_detail::RuleScript> script_;
};

TEST_F(LuaReference, names_every_method_of_a_trial) {
  EXPECT_EQ(documented({"method of `trial`"}, "trial:"),
            methods_of([&](lua_State* state) { scripting_detail::push_trial(state, *object_); }));
}

TEST_F(LuaReference, names_every_method_of_a_tensor) {
  EXPECT_EQ(documented({"method of a tensor"}, "tensor:"), methods_of([&](lua_State* state) {
              scripting_detail::push_trial(state, *object_);
              lua_getfield(state, -1, "tensor");
              lua_insert(state, -2);
              lua_pushliteral(state, "w");
              lua_call(state, 2, 1);
            }));
}

TEST_F(LuaReference, names_every_method_of_a_value) {
  const Names methods = methods_of([&](lua_State* state) {
    scripting_detail::push_value(state, trial_->tensor("w").value(0), "w");
  });
  const std::vector<std::string_view> tables = {"choosing elements", "element by element",
                                                "of all elements, or along an axis",
                                                "of all elements only"};
  Names names = documented(tables, "v:");
  names.merge(documented(tables, "mask:"));
  EXPECT_EQ(names, methods);
}

TEST_F(LuaReference, names_every_method_of_what_required_is_given) {
  scripting_detail::Requirements requirements;
  EXPECT_EQ(methods_of([&](lua_State* state) { requirements.push(state, *object_); }),
            Names({"add"}));
  Names names;
  for (const std::string& line : cupel_docs::lines_of(kDocument))
    add_names_behind("`req:", line, names);
  EXPECT_EQ(names, Names({"add"}));
}

// They are in a state that a rule keeps for itself, so that its source is asked.
TEST_F(LuaReference, names_every_method_of_self) {
  Names names;
  for (const std::string& line :
       cupel_docs::lines_of(fs::path(CUPEL_SOURCE_DIR) / "scripting" / "src" / "rule_self.cc"))
    if (line.find("set_method<") != std::string::npos) add_names_behind("(lua, \"", line, names);
  EXPECT_GE(names.size(), 5U);
  EXPECT_EQ(documented({"method of `self`"}, "self:"), names);
}

TEST_F(LuaReference, names_every_function_of_the_library) {
  const auto globals = [](lua_State* state) { scripting_detail::LuaState::push_globals(state); };
  for (const auto& row : cupel_docs::table_of(kDocument, "library")) {
    ASSERT_EQ(row.size(), 2U);
    Names names;
    for (const std::string& name : cupel_docs::quoted_in(row[1])) names.insert(name);
    if (row[0] == "global") {
      EXPECT_EQ(names, functions_in(globals));
      continue;
    }
    const std::string library = cupel_docs::quoted_in(row[0]).front();
    EXPECT_EQ(names, functions_in([&](lua_State* state) {
                globals(state);
                lua_getfield(state, -1, library.c_str());
              }))
        << library;
  }
}

TEST_F(LuaReference, has_a_row_for_every_library) {
  Names libraries;
  script_->protect([&](lua_State* state) {
    scripting_detail::LuaState::push_globals(state);
    lua_pushnil(state);
    while (lua_next(state, -2) != 0) {
      if (lua_istable(state, -1)) libraries.insert(lua_tostring(state, -2));
      lua_pop(state, 1);
    }
  });
  libraries.erase("_G");
  EXPECT_EQ(keys_of("library"), libraries);
}

TEST_F(LuaReference, names_every_key_of_a_rule_and_of_what_is_in_it) {
  const std::string rule = "return cupel.rule { name = 'R', invoke_at_step = print, ";
  EXPECT_EQ(keys_of("key"), known_to(rule + "zzzzzzzzzz = 1 }"));
  EXPECT_EQ(keys_of("key of a parameter"),
            known_to(rule + "params = { p = { default = 1, zzzzzzzzzz = 1 } } }"));
  EXPECT_EQ(keys_of("key of needs"), known_to(rule + "needs = { zzzzzzzzzz = 1 } }"));
}

}  // namespace
