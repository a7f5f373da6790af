// The limits, and why each holds:
//
// memory        the allocator refuses. Lua then collects what is garbage and asks once more; only
// if
//               that is refused, too, there is an error, which pcall and resume tell by its status.
// instructions  a hook is called every kHookCount of them. Functions of ours, in which no hook is
//               called, count what they do by charge(). A coroutine counts from its creation, so
//               that is charged as much as it may do unseen.
// clock         looked at by both, and between the pieces in which the parser is fed.
//
// What is raised then is no error of Lua's but an exception that Lua hands through (its status is
// -1): an error that is raised in a hook would first call the message handler of an xpcall, with
// hooks off.
//
// A single instruction may take long only by its operands: by long texts, to which the allocator
// sets a limit and beside which the hook is called more often; and by large blocks, after whose
// allocation it is called at once.

#include "lua_state.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace cupel::lua {
namespace {

constexpr int kHookCount = 100;
// Comparing two texts of 1 MiB may take 15 ms, in one instruction.
constexpr int kHookCountBesideLongTexts = 4;
constexpr std::size_t kLongText = std::size_t{32} << 10U;
constexpr std::size_t kLargeBlock = std::size_t{64} << 10U;
// What a string takes beside its bytes, and more.
constexpr std::size_t kTextOverhead = 64;
constexpr std::size_t kLongestMessage = 2000;
constexpr std::size_t kPieceForParser = 1024;
constexpr int kLevelsOfTraceback = 20;

// "rule.lua:12: what" as Lua writes it.
struct PlacedMessage {
  std::string chunk;
  std::int64_t line = 0;
  std::string problem;
};

PlacedMessage placed(std::string_view message, const std::string& chunk) {
  PlacedMessage result{chunk, 0, std::string(message)};
  for (std::size_t at = message.find(':'); at != std::string_view::npos;
       at = message.find(':', at + 1)) {
    const char* const begin = message.data() + at + 1;
    const char* const end = message.data() + message.size();
    std::int64_t line = 0;
    const auto [stop, failure] = std::from_chars(begin, end, line);
    if (failure != std::errc() || end - stop < 2 || stop[0] != ':' || stop[1] != ' ') continue;
    result.chunk = message.substr(0, at);
    result.line = line;
    result.problem = std::string(stop + 2, end);
    break;
  }
  return result;
}

// "rule.lua:12: ", the innermost line that runs.
std::string place_of(lua_State* lua) {
  lua_Debug activation{};
  for (int level = 0; level < kLevelsOfTraceback && lua_getstack(lua, level, &activation) != 0;
       ++level) {
    lua_getinfo(lua, "Sl", &activation);
    if (activation.currentline > 0)
      return std::string(activation.short_src) + ":" + std::to_string(activation.currentline) +
             ": ";
  }
  return {};
}

// Like luaL_traceback, but asks for none of Lua's memory.
std::string traceback_of(lua_State* lua) {
  std::string text;
  lua_Debug activation{};
  for (int level = 1; level <= kLevelsOfTraceback && lua_getstack(lua, level, &activation) != 0;
       ++level) {
    lua_getinfo(lua, "Sln", &activation);
    if (activation.currentline <= 0) continue;
    text += std::string(activation.short_src) + ":" + std::to_string(activation.currentline) +
            ": in " +
            (activation.name == nullptr ? "the chunk or a function without name"
                                        : "function '" + std::string(activation.name) + "'") +
            "\n";
  }
  return text;
}

struct Pieces {
  LuaState* state;
  std::string_view left;
};

const char* next_piece(lua_State* lua, void* pieces, std::size_t* size) {
  auto& all = *static_cast<Pieces*>(pieces);
  const std::string_view piece = all.left.substr(0, kPieceForParser);
  all.left.remove_prefix(piece.size());
  all.state->charge(lua, static_cast<std::int64_t>(piece.size()));
  *size = piece.size();
  return piece.data();
}

}  // namespace

LuaState::LuaState(const ScriptLimits& limits) : limits_(limits) {
  main_ = lua_newstate(&LuaState::allocate, this);
  if (main_ == nullptr) throw std::bad_alloc();
  running_ = main_;
  // New threads begin with a copy of the main one's.
  *static_cast<LuaState**>(lua_getextraspace(main_)) = this;
}

LuaState::~LuaState() {
  running_ = nullptr;
  lua_close(main_);
}

LuaState& LuaState::of(lua_State* lua) noexcept {
  return **static_cast<LuaState**>(lua_getextraspace(lua));
}

bool LuaState::may_allocate(bool is_text, std::size_t before, std::size_t size) {
  const bool too_long = is_text && size > kLongestText + kTextOverhead;
  const bool fits = size <= before || size - before <= limits_.memory - memory_;
  if (fits && !too_long) return true;
  refused_text_ = too_long;
  if (running_ != nullptr) refusal_place_ = place_of(running_);
  return false;
}

void* LuaState::allocate(void* state, void* block, std::size_t old_size, std::size_t new_size) {
  auto& self = *static_cast<LuaState*>(state);
  // Of a new block the old size tells its kind.
  const std::size_t before = block == nullptr ? 0 : old_size;
  if (new_size == 0) {
    if (before >= kLongText) self.long_texts_.erase(block);
    std::free(block);
    self.memory_ -= before;
    return nullptr;
  }
  const bool is_text = block == nullptr && old_size == LUA_TSTRING;
  void* fresh = nullptr;
  try {
    if (!self.may_allocate(is_text, before, new_size)) return nullptr;
    fresh = std::realloc(block, new_size);
    if (fresh == nullptr) return nullptr;
    if (is_text && new_size >= kLongText) self.long_texts_.insert(fresh);
  } catch (const std::bad_alloc&) {
    std::free(fresh);
    return nullptr;
  }
  self.memory_ = self.memory_ - before + new_size;
  if (new_size >= kLargeBlock && new_size > before && self.running_ != nullptr) {
    // What was counted since the last look is forgotten by it.
    self.instructions_left_ -= kHookCount;
    lua_sethook(self.running_, &LuaState::on_count, LUA_MASKCOUNT, 1);
  }
  return fresh;
}

int LuaState::instructions_between_looks() const noexcept {
  return long_texts_.empty() ? kHookCount : kHookCountBesideLongTexts;
}

void LuaState::begin_call() {
  instructions_left_ = limits_.instructions;
  deadline_ = Clock::now() + limits_.time;
  reached_ = ScriptLimit::None;
  refused_text_ = false;
  place_.clear();
  refusal_place_.clear();
  traceback_.clear();
  running_ = main_;
  lua_sethook(main_, &LuaState::on_count, LUA_MASKCOUNT, instructions_between_looks());
}

void LuaState::on_count(lua_State* lua, lua_Debug* /*activation*/) {
  LuaState& self = of(lua);
  const int count = lua_gethookcount(lua);
  self.charge(lua, count);
  if (count != self.instructions_between_looks())
    lua_sethook(lua, &LuaState::on_count, LUA_MASKCOUNT, self.instructions_between_looks());
}

bool LuaState::may_go_on(std::int64_t instructions) noexcept {
  if (reached_ != ScriptLimit::None) return false;
  // Not below 0 by more than one charge, so that it does not wrap.
  if (instructions_left_ < instructions)
    reached_ = ScriptLimit::Instructions;
  else if (Clock::now() >= deadline_)
    reached_ = ScriptLimit::Clock;
  else
    instructions_left_ -= instructions;
  return reached_ == ScriptLimit::None;
}

void LuaState::charge(lua_State* lua, std::int64_t instructions) {
  if (!may_go_on(instructions)) raise_limit(lua);
}

void LuaState::make_room(lua_State* lua, std::size_t bytes) {
  if (limits_.memory - memory_ < bytes) lua_gc(lua, LUA_GCCOLLECT);
}

void LuaState::raise_limit(lua_State* lua) {
  if (place_.empty()) place_ = place_of(lua);
  throw LimitReached();
}

void LuaState::raise(lua_State* lua, const char* problem) {
  luaL_error(lua, "%s", problem);
  std::abort();  // luaL_error does not return
}

void LuaState::raise_no_memory(lua_State* lua) {
  if (reached_ == ScriptLimit::None) reached_ = ScriptLimit::Memory;
  raise_limit(lua);
}

bool LuaState::is_over(int status) noexcept {
  if (status == LUA_ERRMEM && reached_ == ScriptLimit::None) {
    reached_ = ScriptLimit::Memory;
    place_.swap(refusal_place_);
  }
  return reached_ != ScriptLimit::None;
}

int LuaState::on_error(lua_State* lua) {
  LuaState& self = of(lua);
  if (self.traceback_.empty()) self.traceback_ = traceback_of(lua);
  return 1;
}

int LuaState::compile(lua_State* lua, std::string_view text, const std::string& chunk) {
  if (text.size() > kLongestText) {
    lua_pushfstring(lua, "%s: a script of more than 1 MiB", chunk.c_str());
    return LUA_ERRSYNTAX;
  }
  // Feeding it in pieces, the parser's work is looked at, too.
  Pieces pieces{this, text};
  return lua_load(lua, next_piece, &pieces, ("@" + chunk).c_str(), "t");
}

int LuaState::resume(lua_State* lua, lua_State* thread, int arguments, int* results) {
  lua_Debug activation{};
  const bool is_running = lua_status(thread) == LUA_OK && lua_getstack(thread, 0, &activation) != 0;
  struct Running {
    LuaState& state;
    lua_State* caller;
    ~Running() { state.running_ = caller; }
  };
  int status = LUA_OK;
  {
    const Running scope{*this, std::exchange(running_, thread)};
    status = lua_resume(thread, lua, arguments, results);
  }
  if (!is_over(status)) return status;
  // For Lua it still runs where a limit was reached in it; now it is dead.
  if (!is_running) lua_resetthread(thread);
  raise_limit(lua);
}

void LuaState::load(std::string_view text, const std::string& chunk) {
  if (text.size() > kLongestText) throw ScriptError(chunk, 0, "a script of more than 1 MiB");
  begin_call();
  const int status = compile(main_, text, chunk);
  if (status != LUA_OK) throw_error(status, chunk);
}

void LuaState::call(int arguments, int results, const std::string& chunk) {
  begin_call();
  const int door = lua_gettop(main_) - arguments;
  lua_pushcfunction(main_, &guarded<&LuaState::on_error>);
  lua_insert(main_, door);
  const int status = lua_pcall(main_, arguments, results, door);
  lua_remove(main_, door);
  // A script that came to its end in time may have reached a limit all the same, and caught it.
  if (status == LUA_OK && reached_ == ScriptLimit::None) return;
  if (status == LUA_OK) {
    lua_settop(main_, door - 1);
    lua_pushnil(main_);
  }
  throw_error(status, chunk);
}

std::string LuaState::limit_text() const {
  switch (reached_) {
    case ScriptLimit::Instructions:
      return "the limit of " + std::to_string(limits_.instructions) + " instructions is reached";
    case ScriptLimit::Memory:
      if (refused_text_) return "a text of more than 1 MiB";
      return "the limit of " + std::to_string(limits_.memory >> 20U) + " MiB of memory is reached";
    case ScriptLimit::Clock:
      return "the limit of " + std::to_string(limits_.time.count()) + " ms is reached";
    case ScriptLimit::None:
      break;
  }
  return {};
}

void LuaState::throw_error(int status, const std::string& chunk) {
  const bool over = is_over(status);
  std::size_t size = 0;
  const char* const text =
      lua_type(main_, -1) == LUA_TSTRING ? lua_tolstring(main_, -1, &size) : nullptr;
  std::string message = over ? place_ + limit_text()
                        : text != nullptr
                            ? std::string(text, std::min(size, kLongestMessage))
                            : "the error is no text but a " + std::string(luaL_typename(main_, -1));
  lua_pop(main_, 1);
  PlacedMessage where = placed(message, chunk);
  throw ScriptError(std::move(where.chunk), where.line, where.problem, reached_,
                    std::exchange(traceback_, {}));
}

}  // namespace cupel::lua
