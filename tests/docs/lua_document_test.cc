// Keeps docs/lua.md true. Of its lua blocks, one that
//
//   begins with `-- NAME.lua`   is a file for the commands behind it: see documents_test.cc,
//   has `cupel.rule`            is a file of rules by itself, which judges a whole run,
//   is none of these            holds lines of invoke_at_step(self, trial, step), at one step of
//                               the run. Blocks between two headings continue each other.
//
// Behind an expression, or `local name = expression`, `--> text` says what it is: numbers and
// texts as Lua writes them, {…} tables, […] values, or `error: ` and a message. "…" in it stands
// for any text.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/cupel.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "markdown.h"
#include "scratch.h"
#include "scripting/lua_rule_of.h"

namespace {

namespace fs = std::filesystem;
using cupel_docs::Block;

constexpr std::int64_t kStep = 40;

// Says what expressions are, a finding each: the line, and the text.
constexpr std::string_view kCheck = R"lua(
local shown

local function list(items, open, close)
  local texts = {}
  for i = 1, #items do texts[i] = shown(items[i], open, close) end
  for key, item in pairs(items) do
    if math.type(key) ~= "integer" then texts[#texts + 1] = key .. " = " .. shown(item) end
  end
  return open .. table.concat(texts, ", ") .. close
end

function shown(x, open, close)
  if cupel.is_value(x) then
    if #x.shape == 0 then return "[" .. shown(x:item()) .. "]" end
    return list(x:to_table(), "[", "]")
  end
  if type(x) == "table" then return list(x, open or "{", close or "}") end
  if type(x) == "string" then return '"' .. x .. '"' end
  return tostring(x)
end

return function(self, line, expression)
  local results = table.pack(pcall(expression))
  local text
  if results[1] then
    local texts = {}
    for i = 2, results.n do texts[#texts + 1] = shown(results[i]) end
    text = table.concat(texts, ", ")
  else
    text = "error: " .. tostring(results[2]):gsub([[^\w+\.lua:\d+: ]], "")
  end
  self:issue { tensor = "line " .. line, value = 0, message = text }
end
)lua";

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

/// The blocks between two headings: one function.
struct Section {
  std::size_t line = 0;
  std::map<std::size_t, std::string> lines = {};     // of Lua, by their numbers
  std::map<std::size_t, std::string> expected = {};  // what an expression is, likewise
};

bool is_fragment(const Block& block) {
  return cupel_docs::file_name_of(block).empty() &&
         std::none_of(block.lines.begin(), block.lines.end(), [](const std::string& line) {
           return line.find("cupel.rule {") != std::string::npos;
         });
}

// The line as it is run: what `-->` says something of is looked at.
std::string looked_at(const std::string& line, std::size_t number, Section& section) {
  constexpr std::string_view kSign = "--> ";
  constexpr std::string_view kLocal = "local ";
  const std::size_t at = line.find(kSign);
  if (at == std::string::npos) return line;
  section.expected[number] = trimmed(line.substr(at + kSign.size()));
  const std::string code = trimmed(line.substr(0, at));
  const bool is_local = code.starts_with(kLocal);
  const std::string expression =
      is_local ? code.substr(kLocal.size(), code.find('=') - kLocal.size()) : code;
  return (is_local ? code + "; " : "") + "check(self, " + std::to_string(number) +
         ", function() return " + expression + " end)";
}

std::vector<Section> sections_of(const fs::path& document) {
  std::set<std::size_t> headings;
  std::size_t number = 0;
  bool inside = false;
  for (const std::string& line : cupel_docs::lines_of(document)) {
    ++number;
    if (line.starts_with("```")) inside = !inside;
    if (!inside && line.starts_with("##")) headings.insert(number);
  }
  std::map<std::size_t, Section> sections;  // by the headings above them
  for (const Block& block : cupel_docs::blocks_of(document, "lua")) {
    if (!is_fragment(block)) continue;
    const std::size_t heading = *std::prev(headings.upper_bound(block.line));
    Section& section = sections[heading];
    section.line = heading;
    number = block.line;
    for (const std::string& line : block.lines) {
      ++number;
      section.lines[number] = looked_at(line, number, section);
    }
  }
  std::vector<Section> all;
  all.reserve(sections.size());
  for (auto& [heading, section] : sections) all.push_back(std::move(section));
  return all;
}

// With every line at its place in the document, so that errors name it.
std::string script_of(const Section& section) {
  std::string text =
      "local check = require \"check\" return cupel.rule { name = \"Snippets\", "
      "invoke_at_step = function(self, trial, step) ";
  std::size_t at = 1;
  for (const auto& [number, line] : section.lines) {
    text.append(number - at, '\n').append(line);
    at = number;
  }
  return text + "\nend }\n";
}

void write(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

class LuaDocument : public ::testing::Test {
 protected:
  LuaDocument() {
    const std::string save = std::string(CUPEL_BIN_DIR) + "/examples/save >/dev/null";
    if (std::system(save.c_str()) != 0) throw std::runtime_error("there is no run");
    fs::copy(document_.parent_path().parent_path() / "examples" / "rules", ".");
    write("check.lua", kCheck);
  }

  // What a file with one rule finds at the step.
  cupel::Verdict judge(const std::string& file) {
    const auto trial = cupel::create_trial("runs/deep");
    const auto rule = cupel::testing::lua_rule(file)->make(*trial);
    return cupel::RuleEvaluation(*rule).at_step(kStep, cupel::RunFollower(*trial).snapshot());
  }

  const fs::path document_ = fs::path(CUPEL_SOURCE_DIR) / "docs" / "lua.md";
  cupel_docs::Scratch scratch_;
};

TEST_F(LuaDocument, every_expression_is_what_the_document_says) {
  std::size_t expressions = 0;
  for (const Section& section : sections_of(document_)) {
    write("snippets.lua", script_of(section));
    std::map<std::size_t, std::string> found;
    try {
      for (const cupel::Finding& finding : judge("snippets.lua").findings())
        if (finding.tensor.starts_with("line "))
          found[std::stoul(finding.tensor.substr(5))] = finding.message;
    } catch (const cupel::Error& error) {
      ADD_FAILURE() << "the blocks below line " << section.line << ": " << error.what();
    }
    for (const auto& [number, expected] : section.expected) {
      ++expressions;
      EXPECT_TRUE(cupel_docs::line_matches(expected, found[number]))
          << "lua.md:" << number << " says\n  " << expected << "\nand it is\n  " << found[number];
    }
  }
  EXPECT_GT(expressions, 80U);
}

TEST_F(LuaDocument, every_file_of_rules_judges_a_run_without_an_error) {
  std::size_t files = 0;
  for (const Block& block : cupel_docs::blocks_of(document_, "lua")) {
    if (is_fragment(block) || !cupel_docs::file_name_of(block).empty()) continue;
    ++files;
    std::string text;
    for (const std::string& line : block.lines) text += line + "\n";
    write("rules.lua", text);
    const auto trial = cupel::create_trial("runs/deep");
    const cupel::RuleFile file = cupel::read_lua_rules("rules.lua");
    EXPECT_EQ(cupel::testing::errors_text(file), "") << "lua.md:" << block.line;
    cupel::RuleRunner runner(*trial);
    for (const auto& rule : file.definitions) {
      std::vector<std::unique_ptr<cupel::Trial>> others;
      others.push_back(cupel::create_trial("runs/deep"));
      runner.add(rule->make(*trial, {}, std::move(others)));
    }
    for (const cupel::RuleSummary& rule : runner.run([](const cupel::VerdictLine&) {}).rules)
      EXPECT_NE(rule.status, cupel::RuleStatus::Error)
          << "lua.md:" << block.line << ": " << rule.message;
  }
  EXPECT_GT(files, 0U);
}

TEST_F(LuaDocument, every_table_of_arguments_has_the_names_that_the_method_knows) {
  // Each method is called with a name that it does not know, and says which it does.
  constexpr const char* kHeadings[] = {"method of `trial`", "method of a tensor",
                                       "method of `self`"};
  std::string calls = "local tensor, reduction = trial:tensor('loss'), 'mean'\n";
  std::vector<std::string> documented;
  for (const char* const heading : kHeadings)
    for (const auto& row : cupel_docs::table_of(document_, heading))
      for (const std::string& code : cupel_docs::quoted_in(row.front())) {
        const std::size_t begin = code.find('{');
        if (begin == std::string::npos) continue;
        const std::size_t end = code.find('}');
        calls += "check(self, " + std::to_string(documented.size()) + ", function() " +
                 code.substr(0, begin) + "{ zzzzzzzzzzzz = 1 }" + code.substr(end + 1) + " end)\n";
        documented.push_back(code.substr(begin + 1, end - begin - 1));
      }
  ASSERT_GT(documented.size(), 8U);
  write("calls.lua", script_of({.lines = {{1, calls}}}));
  std::size_t asked = 0;
  for (const cupel::Finding& finding : judge("calls.lua").findings()) {
    const std::string& keys = documented[std::stoul(finding.tensor.substr(5))];
    EXPECT_TRUE(finding.message.ends_with("it knows " + keys)) << keys << ": " << finding.message;
    ++asked;
  }
  EXPECT_EQ(asked, documented.size());
}

TEST_F(LuaDocument, every_file_is_used_by_a_command_or_by_another_file) {
  const std::vector<Block> blocks = cupel_docs::blocks_of(document_);
  for (const Block& block : blocks) {
    const std::string file = cupel_docs::file_name_of(block);
    if (file.empty()) continue;
    const std::string module = "require \"" + fs::path(file).stem().string() + "\"";
    EXPECT_TRUE(std::any_of(
        blocks.begin(), blocks.end(),
        [&](const Block& user) {
          return std::any_of(user.lines.begin(), user.lines.end(), [&](const std::string& line) {
            return (line.starts_with("$ ") && line.find(file) != std::string::npos) ||
                   line.find(module) != std::string::npos;
          });
        }))
        << "lua.md:" << block.line << ": nothing runs " << file;
  }
}

}  // namespace
