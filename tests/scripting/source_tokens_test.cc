// The tokens of scripts, compared with those that Lua itself reads.

#include "../../scripting/src/source_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "scripting/script_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using Kind = scripting_detail::SourceToken::Kind;

std::vector<scripting_detail::SourceToken> tokens_of(std::string_view text) {
  scripting_detail::SourceTokens tokens(text);
  std::vector<scripting_detail::SourceToken> all;
  for (auto token = tokens.next(); token.kind != Kind::End; token = tokens.next())
    all.push_back(token);
  return all;
}

std::vector<std::string> texts_of(std::string_view text) {
  std::vector<std::string> texts;
  for (const auto& token : tokens_of(text)) texts.emplace_back(token.text);
  return texts;
}

TEST(SourceTokens, are_those_of_Lua) {
  EXPECT_THAT(texts_of("a.b ~= 0x1p-4 .. 'x\\'y' == [=[ ]] ]=] ::l:: -- c\n..."),
              ElementsAre("a", ".", "b", "~=", "0x1p-4", "..", "'x\\'y'", "==", "[=[ ]] ]=]",
                          "::", "l", "::", "..."));
  EXPECT_THAT(texts_of("::a::::b:: ..... a<=b>=c<<d>>e//f"),
              ElementsAre("::", "a", "::", "::", "b", "::", "...", "..", "a", "<=", "b", ">=", "c",
                          "<<", "d", ">>", "e", "//", "f"));
  EXPECT_THAT(texts_of("0xep1 3e+5-2 .5 5. 0x.8P+1"),
              ElementsAre("0xep1", "3e+5", "-", "2", ".5", "5.", "0x.8P+1"));
  EXPECT_THAT(
      texts_of(R"('\x27' '\u{27}' '\'' '\\' "\z  " '\65')"),
      ElementsAre(R"('\x27')", R"('\u{27}')", R"('\'')", R"('\\')", R"("\z  ")", R"('\65')"));
  EXPECT_THAT(texts_of("--[==[ ]] ]=]\n]==] a --[=b\nc --[[ ]=] ]]d --"),
              ElementsAre("a", "c", "d"));
}

// Makes entries of a list: mostly texts, with all that may be in them and around them.
class ListMaker {
 public:
  explicit ListMaker(std::uint32_t seed) : random_(seed) {}

  std::string list() {
    std::string text = "return {";
    const int entries = number(1, 4);
    for (int i = 0; i < entries; ++i) text += blanks() + entry() + blanks() + ",";
    return text + "}, line()";
  }

 private:
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  template <std::size_t kSize>
  std::string pieces(const char* const (&from)[kSize], int most) {
    std::string text;
    for (int count = number(0, most); count > 0; --count)
      text += from[static_cast<std::size_t>(number(0, kSize - 1))];
    return text;
  }
  std::string blanks() {
    constexpr const char* kBlanks[] = {" ",      "\n",     "\r",     "\r\n",          "\n\r",
                                       "\t\f\v", "--a'\n", "--[b\r", "--[=[ '\r ]=]", "--[[\n\r]]",
                                       "--\r\n"};
    return pieces(kBlanks, 3);
  }
  std::string entry() {
    constexpr const char* kInside[] = {
        "\\\n",    "\\\r", "\\\r\n", "\\\n\r", "\\z", "\\z\r\n ", "\\\\", "\\'", "\\\"", "\\x27",
        "\\u{22}", "\\39", "'",      "\"",     "\n",  "\r",       "[[",   "]]",  "]=]",  "]",
        "=",       "--",   "z",      " ",      ",",   "{",        "}",    "\\n"};
    constexpr const char* kNumbers[] = {"0",  "1",  "9", "0x", "a", "e",
                                        "E+", "p-", "P", ".",  "f", "-"};
    switch (number(0, 4)) {
      case 0:
        return "[[" + pieces(kInside, 6) + "]]";
      case 1:
        return "[=[" + pieces(kInside, 6) + "]=]";
      case 2:
        return "1" + pieces(kNumbers, 4);
      default: {
        const char* const quote = number(0, 1) == 0 ? "'" : "\"";
        return quote + pieces(kInside, 6) + quote;
      }
    }
  }

  std::mt19937 random_;
};

struct Counts {
  std::int64_t entries = 0;
  std::int64_t texts = 0;
  std::int64_t last_line = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.entries << " entries, " << counts.texts << " texts, line " << counts.last_line;
}

int line_of_call(lua_State* lua) {
  lua_Debug caller{};
  lua_getstack(lua, 1, &caller);
  lua_getinfo(lua, "l", &caller);
  lua_pushinteger(lua, caller.currentline);
  return 1;
}

// What Lua makes of a list. Nothing where it refuses the list, or the list ends before line().
std::optional<Counts> counts_of_lua(lua_State* lua, const std::string& text) {
  lua_settop(lua, 0);
  if (luaL_loadbuffer(lua, text.data(), text.size(), "list") != LUA_OK ||
      lua_pcall(lua, 0, 2, 0) != LUA_OK || lua_type(lua, 2) != LUA_TNUMBER)
    return std::nullopt;
  Counts counts{.last_line = lua_tointeger(lua, 2)};
  counts.entries = static_cast<std::int64_t>(lua_rawlen(lua, 1));
  for (std::int64_t i = 1; i <= counts.entries; ++i, lua_pop(lua, 1))
    counts.texts += lua_rawgeti(lua, 1, i) == LUA_TSTRING ? 1 : 0;
  return counts;
}

Counts counts_of_ours(const std::string& text) {
  Counts counts;
  for (const scripting_detail::SourceToken& token : tokens_of(text)) {
    if (token.is_sign(",")) ++counts.entries;
    if (token.kind == Kind::Text) ++counts.texts;
    if (token.is_name("line")) counts.last_line = token.line;
  }
  --counts.entries;  // the comma behind the list
  return counts;
}

TEST(SourceTokens, of_random_lists_end_where_those_of_Lua_do) {
  const std::unique_ptr<lua_State, decltype(&lua_close)> lua(luaL_newstate(), lua_close);
  lua_register(lua.get(), "line", line_of_call);
  ListMaker maker(20);
  int compared = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = maker.list();
    const auto expected = counts_of_lua(lua.get(), text);
    if (!expected) continue;
    ++compared;
    ASSERT_EQ(counts_of_ours(text), *expected) << ::testing::PrintToString(text);
  }
  EXPECT_GT(compared, 10'000);
}

}  // namespace
}  // namespace cupel
