// find, match, gmatch and gsub with the patterns of PCRE2: a search by Lua's own cannot be
// interrupted.
//
// A search calls back before each item that it tries, which counts against the instructions of the
// script. The state keeps the 16 patterns used last. A pattern that does not compile, or takes too
// many attempts, is an error of the script.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/text_pattern.h"
#include "cupel/core/utf8.h"
#include "pattern_spelling.h"
#include "sandbox_functions.h"
#include "text_builder.h"

namespace cupel::scripting_detail {
namespace {

using Ranges = std::vector<TextPattern::Range>;

constexpr std::size_t kPatternsKept = 16;
constexpr std::int64_t kCompiling = 1000;
constexpr std::int64_t kSearch = 10;
constexpr std::size_t kLongestReplacement = 8192;

// Compiled patterns of one state, those used last first.
struct PatternCache {
  std::vector<std::pair<std::string, TextPattern>> entries;
};

[[noreturn]] void fail(const std::string& problem) { throw UsageError(problem); }

TextPattern compile(lua_State* lua, std::string_view text) {
  auto& entries = LuaState::of(lua).kept<PatternCache>().entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].first != text) continue;
    std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i),
                entries.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return entries.front().second;
  }
  LuaState::of(lua).charge(lua, kCompiling);
  if (text.size() <= TextPattern::kLongest)
    if (const std::string problem = pattern_problem(text); !problem.empty()) fail(problem);
  TextPattern made(text);
  if (entries.size() >= kPatternsKept) entries.pop_back();
  entries.emplace(entries.begin(), std::string(text), made);
  return made;
}

// Goes through the places of a text where a pattern is found, none of them twice.
class Finder {
 public:
  Finder(lua_State* lua, std::string_view text, std::string_view pattern, std::size_t from)
      : lua_(lua), text_(text), shown_(pattern), pattern_(compile(lua, pattern)) {
    LuaState& state = LuaState::of(lua);
    state.charge(lua, static_cast<std::int64_t>(text.size() / 64) + 1);
    how_.from = from;
    how_.is_known_utf8 = is_utf8(text);
    how_.go_on = [&state] { return state.may_go_on(1); };
  }

  bool next() {
    LuaState& state = LuaState::of(lua_);
    // A text that is not UTF-8 is checked to its end at every search.
    const std::size_t rest = how_.from < text_.size() ? text_.size() - how_.from : 0;
    state.charge(lua_,
                 how_.is_known_utf8 ? kSearch : kSearch + static_cast<std::int64_t>(rest / 16));
    switch (pattern_.search(text_, how_, ranges_)) {
      case TextPattern::Outcome::NotFound:
        return false;
      case TextPattern::Outcome::Interrupted:
        state.raise_limit(lua_);
      case TextPattern::Outcome::LimitReached:
        fail("too much to try on a text of " + std::to_string(text_.size()) +
             " bytes for the pattern " + shown(shown_));
      case TextPattern::Outcome::Found:
        break;
    }
    // Like Lua: nothing at all is not found where the place before ended.
    how_.from = ranges_.front().end;
    how_.empty_at_start = false;
    return true;
  }

  void do_not_begin_empty() noexcept { how_.empty_at_start = false; }
  const Ranges& ranges() const noexcept { return ranges_; }
  const TextPattern& pattern() const noexcept { return pattern_; }
  std::string_view text_of(const TextPattern::Range& range) const noexcept {
    return range.begin == TextPattern::kNowhere
               ? std::string_view()
               : text_.substr(range.begin, range.end - range.begin);
  }

  /// Pushes a group; false where it took no part, since nil would end a list.
  int push_group(std::size_t group) const {
    const TextPattern::Range& range = ranges_[group];
    return range.begin == TextPattern::kNowhere ? push(lua_, false) : push(lua_, text_of(range));
  }
  /// Pushes all groups, or the whole where there are none and it is asked for.
  int push_groups(bool or_whole) const {
    const std::size_t count = ranges_.size() - 1;
    if (count == 0 && or_whole) return push_group(0);
    luaL_checkstack(lua_, static_cast<int>(count), "too many groups");
    for (std::size_t group = 1; group <= count; ++group) push_group(group);
    return static_cast<int>(count);
  }

 private:
  lua_State* lua_;
  std::string_view text_;
  std::string_view shown_;
  TextPattern pattern_;
  TextPattern::Search how_;
  Ranges ranges_;
};

// Where a search begins, from an argument as Lua's; nothing if behind the text.
std::optional<std::size_t> beginning(lua_State* lua, int argument, std::size_t size) {
  const lua_Integer given = luaL_optinteger(lua, argument, 1);
  const auto length = static_cast<lua_Integer>(size);
  if (given > length + 1) return std::nullopt;
  if (given > 0) return static_cast<std::size_t>(given - 1);
  if (given == 0 || given < -length) return 0;
  return static_cast<std::size_t>(length + given);
}

int find(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const std::string_view pattern = check_text(lua, 2);
  const auto from = beginning(lua, 3, text.size());
  TextPattern::Range found;
  std::optional<Finder> finder;
  if (from && lua_toboolean(lua, 4) != 0) {
    // Pieces, since looking for a long text in a long one takes the product of both at worst.
    constexpr std::size_t kPiece = 256;
    LuaState& state = LuaState::of(lua);
    for (std::size_t at = *from; found.begin == TextPattern::kNowhere; at += kPiece) {
      state.charge(lua, 1 + static_cast<std::int64_t>((pattern.size() + kPiece) / 64));
      const std::string_view piece = text.substr(at, kPiece + pattern.size());
      const std::size_t place = piece.find(pattern);
      if (place != std::string_view::npos)
        found = {at + place, at + place + pattern.size()};
      else if (text.size() - at <= kPiece)
        break;
    }
  } else if (from) {
    finder.emplace(lua, text, pattern, *from);
    if (finder->next()) found = finder->ranges().front();
  }
  if (found.begin == TextPattern::kNowhere) return push(lua, nullptr);
  const int places = push(lua, found.begin + 1) + push(lua, found.end);
  return places + (finder ? finder->push_groups(false) : 0);
}

int match(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const std::string_view pattern = check_text(lua, 2);
  if (const auto from = beginning(lua, 3, text.size())) {
    Finder finder(lua, text, pattern, *from);
    if (finder.next()) return finder.push_groups(true);
  }
  return push(lua, nullptr);
}

// Upvalues: text, pattern, where to begin, whether nothing at all may be found there.
int next_match(lua_State* lua) {
  const std::string_view text = check_text(lua, lua_upvalueindex(1));
  const std::string_view pattern = check_text(lua, lua_upvalueindex(2));
  const auto from = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(3)));
  Finder finder(lua, text, pattern, from);
  if (lua_toboolean(lua, lua_upvalueindex(4)) == 0) finder.do_not_begin_empty();
  const bool is_found = finder.next();
  push(lua, is_found ? finder.ranges().front().end : text.size() + 1);
  lua_replace(lua, lua_upvalueindex(3));
  push(lua, false);
  lua_replace(lua, lua_upvalueindex(4));
  return is_found ? finder.push_groups(true) : push(lua, nullptr);
}

int gmatch(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  compile(lua, check_text(lua, 2));
  const auto from = beginning(lua, 3, text.size());
  lua_settop(lua, 2);
  push(lua, from.value_or(text.size() + 1));
  push(lua, true);
  push_function<next_match>(lua, 4);
  return 1;
}

// A piece of a replacement: text, or else a group.
struct Piece {
  std::string_view text;
  std::optional<std::size_t> group;
};

// "$1", "${1}", "${name}", "$0" the whole, "$$" a dollar sign.
std::vector<Piece> pieces_of(std::string_view replacement, const TextPattern& pattern) {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < replacement.size(); ++at) {
    const char after = at + 1 < replacement.size() ? replacement[at + 1] : '\0';
    if (replacement[at] == '%' && is_digit(after))
      fail("a group is $" + std::string(1, after) + " here, not %" + after +
           ", in the replacement " + shown(replacement));
    if (replacement[at] != '$') continue;
    pieces.push_back({replacement.substr(begin, at - begin), std::nullopt});
    std::string_view name;
    if (after == '$') {
      pieces.push_back({"$", std::nullopt});
      begin = at + 2;
    } else {
      const std::size_t end = after == '{' ? replacement.find('}', at) : at + 2;
      if (end == std::string_view::npos || (after != '{' && !is_digit(after)))
        fail("$ is followed by a digit, {name} or $, in the replacement " + shown(replacement));
      name =
          after == '{' ? replacement.substr(at + 2, end - at - 2) : replacement.substr(at + 1, 1);
      begin = after == '{' ? end + 1 : end;
      std::optional<std::size_t> group;
      if (name.size() == 1 && is_digit(name[0]))
        group = static_cast<std::size_t>(name[0] - '0');
      else
        group = pattern.group_named(std::string(name));
      if (!group || *group > pattern.group_count())
        fail("the pattern has no group " + shown(name) + ", in the replacement " +
             shown(replacement));
      pieces.push_back({{}, group});
    }
    at = begin - 1;
  }
  pieces.push_back({replacement.substr(begin), std::nullopt});
  return pieces;
}

// Appends the replacement that a function or a table returns for a match.
void append_answer(lua_State* lua, TextBuilder& result, const Finder& finder) {
  if (lua_type(lua, 3) == LUA_TFUNCTION) {
    lua_pushvalue(lua, 3);
    const int count = finder.push_groups(true);
    lua_call(lua, count, 1);
  } else {
    finder.push_group(finder.ranges().size() > 1 ? 1 : 0);
    lua_gettable(lua, 3);
  }
  if (lua_toboolean(lua, -1) == 0) {
    result.append(finder.text_of(finder.ranges().front()));
  } else {
    if (lua_isstring(lua, -1) == 0)
      luaL_error(lua, "a replacement is a text, not a %s", luaL_typename(lua, -1));
    result.append(check_text(lua, -1));
  }
  lua_pop(lua, 1);
}

int gsub(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const std::string_view pattern = check_text(lua, 2);
  const int type = lua_type(lua, 3);
  const bool is_text = type == LUA_TSTRING || type == LUA_TNUMBER;
  luaL_argexpected(lua, is_text || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                   "string/function/table");
  const lua_Integer most = luaL_optinteger(lua, 4, LUA_MAXINTEGER);
  Finder finder(lua, text, pattern, 0);
  std::vector<Piece> pieces;
  if (is_text) {
    const std::string_view replacement = check_text(lua, 3);
    if (replacement.size() > kLongestReplacement) fail("the replacement is longer than 8 KiB");
    pieces = pieces_of(replacement, finder.pattern());
  }
  TextBuilder result(lua);
  std::size_t done = 0;
  lua_Integer count = 0;
  while (count < most && finder.next()) {
    ++count;
    const TextPattern::Range place = finder.ranges().front();
    // A look-behind with \K may find what begins before the end of the place before.
    const std::size_t begin = std::max(place.begin, done);
    result.append(text.substr(done, begin - done));
    for (const Piece& piece : pieces)
      result.append(piece.group ? finder.text_of(finder.ranges()[*piece.group]) : piece.text);
    if (!is_text) append_answer(lua, result, finder);
    done = std::max(place.end, begin);
  }
  result.append(text.substr(done));
  result.push();
  return 1 + push(lua, count);
}

}  // namespace

void add_pattern_functions(lua_State* lua) {
  LuaState::of(lua).keep(PatternCache{});
  add_functions(lua, {LUA_STRLIBNAME, luaopen_string}, {},
                {{"find", guarded<find>},
                 {"match", guarded<match>},
                 {"gmatch", guarded<gmatch>},
                 {"gsub", guarded<gsub>}});
}

}  // namespace cupel::scripting_detail
