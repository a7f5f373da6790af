// A Lua state with limits: compiling, calling and what a call that ends early reports.
//
// LuaState::call is the only way into the state. It sets the limits, calls Lua in protected mode
// and turns the error on the stack into a ScriptError, or rethrows the exception of a query. A
// limit that is reached ends the call by LimitReached, which is no error of Lua. lua_memory.cc has
// the allocator. One thread uses a state.

#include "lua_state.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "arguments.h"
#include "cupel/core/number_text.h"
#include "data_error.h"
#include "source_check.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestMessage = 2000;
constexpr std::size_t kPieceForParser = 1024;
constexpr int kLevelsOfTraceback = 20;

// The place of the globals of scripts in the registry.
char globals_of_scripts;

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
    const std::string_view behind = message.substr(at + 1);
    const std::size_t end = std::min(behind.find(": "), behind.size());
    const auto line = parse_integer<std::int64_t>(behind.substr(0, end));
    if (!line || end == behind.size()) continue;
    result.chunk = message.substr(0, at);
    result.line = *line;
    result.problem = behind.substr(end + 2);
    break;
  }
  return result;
}

// Calls visit() with each activation that has a line and with that line's place, innermost first,
// until it returns false.
template <class F>
void visit_lines(lua_State* lua, F&& visit) {
  lua_Debug activation{};
  for (int level = 0; level <= kLevelsOfTraceback && lua_getstack(lua, level, &activation) != 0;
       ++level) {
    lua_getinfo(lua, "Sln", &activation);
    if (activation.currentline > 0 &&
        !visit(activation, std::string(activation.short_src) + ":" +
                               std::to_string(activation.currentline) + ": "))
      return;
  }
}

// Like luaL_traceback, but asks for none of Lua's memory.
std::string traceback_of(lua_State* lua) {
  std::string text;
  visit_lines(lua, [&](const lua_Debug& activation, const std::string& place) {
    text += place + "in " +
            (activation.name == nullptr ? "the chunk or a function without name"
                                        : "function '" + std::string(activation.name) + "'") +
            "\n";
    return true;
  });
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

std::string LuaState::place_of(lua_State* lua) {
  std::string innermost;
  visit_lines(lua, [&](const lua_Debug&, std::string place) {
    innermost = std::move(place);
    return false;
  });
  return innermost;
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
  if (!self.look(count)) self.raise_limit(lua);
  if (count != self.instructions_between_looks())
    lua_sethook(lua, &LuaState::on_count, LUA_MASKCOUNT, self.instructions_between_looks());
}

// Counts, and looks at the clock.
bool LuaState::look(std::int64_t instructions) noexcept {
  if (reached_ != ScriptLimit::None) return false;
  if (instructions_left_ < instructions) {
    reached_ = ScriptLimit::Instructions;
    return false;
  }
  instructions_left_ -= instructions;
  counted_since_look_ = 0;
  if (Clock::now() >= deadline_) reached_ = ScriptLimit::Clock;
  return reached_ == ScriptLimit::None;
}

void LuaState::raise_limit(lua_State* lua) {
  if (place_.empty()) place_ = place_of(lua);
  throw LimitReached();
}

void LuaState::push_error(lua_State* lua, const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) of(lua).raise_no_memory(lua);
  try {
    push_exception(lua, error);
  } catch (const std::bad_alloc&) {
    of(lua).raise_no_memory(lua);
  }
}

void LuaState::raise_caught(lua_State* lua, const std::exception& error) {
  push_error(lua, error);
  lua_error(lua);
  std::abort();  // lua_error does not return
}

void LuaState::raise_no_memory(lua_State* lua) {
  if (reached_ == ScriptLimit::None) reached_ = ScriptLimit::Memory;
  raise_limit(lua);
}

bool LuaState::is_over(int status) noexcept {
  if (status == LUA_ERRMEM) {
    if (reached_ == ScriptLimit::None) reached_ = ScriptLimit::Memory;
    if (place_.empty()) place_.swap(refusal_place_);
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
    push(lua, chunk + ": a script of more than 1 MiB");
    return LUA_ERRSYNTAX;
  }
  if (const auto line = line_of_long_chain(text)) {
    push(lua, chunk + ":" + std::to_string(*line) + ": more than " + std::to_string(kLongestChain) +
                  " fields, indices and methods in a row");
    return LUA_ERRSYNTAX;
  }
  // The parser gets the text in pieces, so that its work is counted, too.
  Pieces pieces{this, text};
  const int status = lua_load(lua, next_piece, &pieces, ("@" + chunk).c_str(), "t");
  if (status == LUA_OK) {
    push_globals(lua);
    if (lua_istable(lua, -1))
      lua_setupvalue(lua, -2, 1);  // its _ENV
    else
      lua_pop(lua, 1);
  }
  return status;
}

void LuaState::set_globals(lua_State* lua) {
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &globals_of_scripts);
}

void LuaState::push_globals(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &globals_of_scripts);
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
  if (status == LUA_OK) lua_settop(main_, door);
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
  std::string message = over ? place_ + limit_text() : std::string();
  std::exception_ptr exception;
  if (!over) {
    if (const DataError* const error = to_data_error(main_, -1)) {
      if (error->skips_step()) exception = error->exception;
      message = error->place + error->kind + ": " + error->message;
    } else if (const std::string_view text = text_at(main_, -1); text.data() != nullptr) {
      message = text.substr(0, kLongestMessage);
    } else {
      message = "the error is no text but " + type_of(main_, -1);
    }
  }
  lua_pop(main_, 1);
  if (exception) std::rethrow_exception(exception);
  PlacedMessage where = placed(message, chunk);
  throw ScriptError(std::move(where.chunk), where.line, where.problem, reached_,
                    std::exchange(traceback_, {}));
}

}  // namespace cupel::scripting_detail
