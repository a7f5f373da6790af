#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <lua.hpp>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cupel/scripting/script_error.h"
#include "cupel/scripting/script_limits.h"

namespace cupel::lua {

/// The longest text of a script, and the longest script.
inline constexpr std::size_t kLongestText = std::size_t{1} << 20U;

/// Ends a call of which a limit was reached. No std::exception, so that nobody catches it on the
/// way.
struct LimitReached {};

/// A Lua state with limits that a script does not get around: of one thread, called through one
/// door.
///
/// A limit that was reached stays reached until the call has ended. Whoever catches errors inside
/// (pcall, a coroutine's caller) hands it on; coroutines that it passed are dead. The
/// next call has its limits anew; memory that scripts can still reach stays in use.
///
/// Lua is the library that was compiled as C++: its errors are exceptions, so that functions of
/// ours may hold what has to be destroyed. Scripts get them by push_function, which lets no
/// exception of ours into Lua; whoever catches inside catches std::exception only, never
/// everything.
class LuaState {
 public:
  explicit LuaState(const ScriptLimits& limits);
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  /// The state that a thread of Lua's, or its main one, belongs to.
  static LuaState& of(lua_State* lua) noexcept;
  lua_State* get() const noexcept { return main_; }
  /// Keeps what functions of ours need as long as the state.
  void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }

  /// Compiles text, never bytecode, and pushes its function. Throws ScriptError.
  void load(std::string_view text, const std::string& chunk);
  /// The door: calls the function below its arguments, with fresh limits, and leaves `results` of
  /// them on the stack, or none and throws ScriptError, whose chunk is `chunk` where the script
  /// does not say. StepUnavailable, TensorUnavailable, TensorUnavailableForStep and DamagedValue of
  /// a query that the script let through come out as they are.
  void call(int arguments, int results, const std::string& chunk);

  /// load() for a script that runs: returns Lua's status, and pushes the function or the error.
  int compile(lua_State* lua, std::string_view text, const std::string& chunk);
  /// lua_resume, after which a limit that was reached is raised.
  int resume(lua_State* lua, lua_State* thread, int arguments, int* results);

  /// Counts work that a function of ours does for a script, before it does it, in parts of a
  /// millisecond at most; throws LimitReached when a limit is reached.
  void charge(lua_State* lua, std::int64_t instructions);
  /// Like charge, but returns whether no limit is reached.
  bool may_go_on(std::int64_t instructions) noexcept;
  /// Collects garbage where less than `bytes` are left: for functions of Lua's that would fail.
  void make_room(lua_State* lua, std::size_t bytes);
  /// Counts bytes that live for scripts outside of Lua's memory, until release(), against the same
  /// limit. Where they do not fit collects garbage, and raises the limit if they still do not.
  void hold(lua_State* lua, std::size_t bytes);
  void release(std::size_t bytes) noexcept { memory_ -= bytes; }
  /// Pushes a userdata that refers to `object`, which lives as long as the userdata's memory. So it
  /// needs no `__gc`, which Lua does not call when it collects because memory has run out. What the
  /// object takes is counted for as long; what it owns is not. A metatable that is in the registry
  /// under `type` becomes the userdata's.
  void push_object(lua_State* lua, std::shared_ptr<void> object, const void* type);
  /// The same of an object that lives as long as the state.
  static void push_reference(lua_State* lua, void* object, const void* type, int user_values = 0);
  /// The object of such a userdata; null where the value is another, or of another type.
  static void* object_at(lua_State* lua, int place, const void* type) noexcept;
  /// Takes note of what lua_pcall or lua_resume returned; true if the script must not go on.
  bool is_over(int status) noexcept;
  /// Throws LimitReached, from within a call.
  [[noreturn]] void raise_limit(lua_State* lua);
  /// Raises the exception that is being handled as an error of the function of ours that threw it.
  [[noreturn]] static void raise_caught(lua_State* lua, const std::exception& error);
  /// Raises that the process has no more memory.
  [[noreturn]] void raise_no_memory(lua_State* lua);

  std::size_t memory_in_use() const noexcept { return memory_; }
  ScriptLimit reached() const noexcept { return reached_; }
  const ScriptLimits& limits() const noexcept { return limits_; }
  /// "rule.lua:12: ", the innermost line that runs; nothing where there is none.
  static std::string place_of(lua_State* lua);

 private:
  using Clock = std::chrono::steady_clock;
  static void* allocate(void* state, void* block, std::size_t old_size, std::size_t new_size);
  static void on_count(lua_State* lua, lua_Debug* activation);
  static int on_error(lua_State* lua);
  void free_block(void* block, std::size_t size) noexcept;
  void collect(lua_State* lua);
  bool may_allocate(bool is_text, std::size_t before, std::size_t size);
  void count_block(std::size_t before, std::size_t size) noexcept;
  void look_soon() noexcept;
  int instructions_between_looks() const noexcept;
  std::string limit_text() const;
  void begin_call();
  [[noreturn]] void throw_error(int status, const std::string& chunk);

  const ScriptLimits limits_;
  std::size_t memory_ = 0;
  std::int64_t instructions_left_ = 0;
  std::int64_t counted_since_look_ = 0;  // at the clock
  std::size_t held_since_collection_ = 0;
  Clock::time_point deadline_;
  ScriptLimit reached_ = ScriptLimit::None;
  bool refused_text_ = false;                   // the last refusal was for a text's length
  std::unordered_set<const void*> long_texts_;  // that are alive
  std::size_t huge_blocks_ = 0;                 // that are alive
  std::string place_;                           // where the limit was reached, "rule.lua:3: "
  std::string refusal_place_;                   // where memory was refused last
  std::string traceback_;
  lua_State* main_ = nullptr;
  lua_State* running_ = nullptr;  // the thread that runs, main or a coroutine
  std::vector<std::shared_ptr<void>> kept_;
  void* newest_userdata_ = nullptr;  // its block, of which the userdata is a part
  std::size_t newest_userdata_size_ = 0;
  std::size_t object_block_size_ = 0;  // of each userdata of push_object
  std::unordered_map<const void*, std::shared_ptr<void>> objects_;  // by their userdata's blocks
};

/// What Lua calls in place of a function of ours.
template <int (*kFunction)(lua_State*)>
int guarded(lua_State* lua) {
  try {
    return kFunction(lua);
  } catch (const std::bad_alloc&) {
    LuaState::of(lua).raise_no_memory(lua);
  } catch (const std::exception& error) {
    LuaState::raise_caught(lua, error);
  }
}

/// Pushes a function of ours with `upvalues`, which are on top.
template <int (*kFunction)(lua_State*)>
void push_function(lua_State* lua, int upvalues = 0) {
  lua_pushcclosure(lua, &guarded<kFunction>, upvalues);
}

/// Sets a function of ours in the table on top.
template <int (*kFunction)(lua_State*)>
void set_function(lua_State* lua, const char* name) {
  push_function<kFunction>(lua);
  lua_setfield(lua, -2, name);
}

}  // namespace cupel::lua
