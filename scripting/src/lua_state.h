#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <lua.hpp>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cupel/scripting/script_error.h"
#include "cupel/scripting/script_limits.h"

namespace cupel::scripting_detail {

/// The longest text of a script, and the longest script.
inline constexpr std::size_t kLongestText = std::size_t{1} << 20U;

/// Ends a call of which a limit was reached. No std::exception, so that nobody catches it on the
/// way.
struct LimitReached {};

/// Small blocks of memory that a Lua state gave back and that it gets again: a script makes and
/// drops tables all the time, and the C library takes ten times as long for each. What they take
/// counts against the limit of memory until clear(), which is called when memory is short.
class SmallBlocks {
 public:
  SmallBlocks() = default;
  ~SmallBlocks() { clear(); }
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;
  /// Returns a block with room for so many bytes; null where none is kept.
  void* take(std::size_t size) noexcept {
    Block** const first = size <= kLargest ? &first_[kind_of(size)] : nullptr;
    if (first == nullptr || *first == nullptr) return nullptr;
    Block* const block = std::exchange(*first, (*first)->next);
    --count_[kind_of(size)];
    bytes_ -= kind_of(size) * kStep;
    return block;
  }
  /// Keeps a block; false where it is not small, or enough of its kind are kept.
  bool keep(void* block, std::size_t size) noexcept {
    if (size > kLargest || count_[kind_of(size)] == kMost) return false;
    first_[kind_of(size)] = new (block) Block{first_[kind_of(size)]};
    ++count_[kind_of(size)];
    bytes_ += kind_of(size) * kStep;
    return true;
  }
  /// Gives all blocks back to the C library and returns how much they took.
  std::size_t clear() noexcept;
  std::size_t bytes() const noexcept { return bytes_; }  ///< What all of them take.

 private:
  struct Block {
    Block* next;
  };
  static constexpr std::size_t kLargest = 120;
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kMost = 8192;
  // In steps of what the C library takes for the block.
  static std::size_t kind_of(std::size_t size) noexcept {
    return std::max<std::size_t>(2, (size + kStep / 2 + kStep - 1) / kStep);
  }
  std::array<Block*, kLargest / kStep + 2> first_ = {};
  std::array<std::size_t, kLargest / kStep + 2> count_ = {};
  std::size_t bytes_ = 0;
};

/// A Lua state with limits that a script does not get around: of one thread, called through one
/// door.
///
/// A limit that was reached stays reached until the call has ended. A function that catches errors
/// inside (pcall, the resume of a coroutine) raises it again; coroutines that it passed are dead.
/// The next call has its limits anew; memory that scripts can still reach stays in use.
///
/// Lua is the library that was compiled as C++: its errors are exceptions, so that functions of
/// ours may hold what has to be destroyed. Scripts get them by push_function, which lets no
/// exception of ours into Lua; a function of ours that catches inside catches std::exception only,
/// never everything.
class LuaState {
 public:
  explicit LuaState(const ScriptLimits& limits);
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  /// The state that a thread of Lua's, or its main one, belongs to.
  static LuaState& of(lua_State* lua) noexcept;
  lua_State* get() const noexcept { return main_; }
  /// Makes an object that functions of ours need, one of each type; it lives as long as the state.
  template <class T>
  T& keep(T object) {
    kept_.insert_or_assign(&kept_key<T>, std::make_shared<T>(std::move(object)));
    return kept<T>();
  }
  /// The object of that type, which was made before.
  template <class T>
  T& kept() const {
    return *static_cast<T*>(kept_.at(&kept_key<T>).get());
  }

  /// Makes the table on top the globals of scripts that are compiled from now on, and pops it. They
  /// are not the globals of the registry: there sol2 keeps a pointer to a function, which a script
  /// may not see.
  static void set_globals(lua_State* lua);
  static void push_globals(lua_State* lua);

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
  void charge(lua_State* lua, std::int64_t instructions) {
    if (!may_go_on(instructions)) raise_limit(lua);
  }
  /// Like charge, but returns whether no limit is reached.
  bool may_go_on(std::int64_t instructions) noexcept {
    if (reached_ != ScriptLimit::None || instructions > instructions_left_ ||
        counted_since_look_ + instructions >= charged_between_looks())
      return look(instructions);
    instructions_left_ -= instructions;
    counted_since_look_ += instructions;
    return true;
  }
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
  /// Records the status that lua_pcall or lua_resume returned; true if the script must not go on.
  bool is_over(int status) noexcept;
  /// Throws LimitReached, from within a call.
  [[noreturn]] void raise_limit(lua_State* lua);
  /// Pushes the error of scripts for the exception that is being handled. Throws LimitReached where
  /// that exception, or a new one, is std::bad_alloc.
  static void push_error(lua_State* lua, const std::exception& error);
  /// Raises the exception that is being handled as an error of the function of ours that threw it.
  [[noreturn]] static void raise_caught(lua_State* lua, const std::exception& error);
  /// Raises that the process has no more memory.
  [[noreturn]] void raise_no_memory(lua_State* lua);

  std::size_t memory_in_use() const noexcept { return memory_ - small_blocks_.bytes(); }
  ScriptLimit reached() const noexcept { return reached_; }
  const ScriptLimits& limits() const noexcept { return limits_; }
  /// "rule.lua:12: ", the innermost line that runs; nothing where there is none.
  static std::string place_of(lua_State* lua);

 private:
  using Clock = std::chrono::steady_clock;
  template <class T>
  static inline char kept_key = 0;
  static constexpr int kHookCount = 100;
  // Comparing two texts of 1 MiB may take 15 ms, in one instruction.
  static constexpr int kHookCountBesideLongTexts = 4;
  // Passing on all that is on a stack of 16 MiB takes 5 ms.
  static constexpr int kHookCountBesideHugeBlocks = 10;
  static void* allocate(void* state, void* block, std::size_t old_size, std::size_t new_size);
  static void on_count(lua_State* lua, lua_Debug* activation);
  static int on_error(lua_State* lua);
  void free_block(void* block, std::size_t size) noexcept;
  void collect(lua_State* lua);
  bool fits(std::size_t bytes) noexcept;
  bool may_allocate(bool is_text, std::size_t before, std::size_t size);
  void count_block(std::size_t before, std::size_t size) noexcept;
  bool look(std::int64_t instructions) noexcept;
  void look_soon() noexcept;
  int instructions_between_looks() const noexcept {
    if (!long_texts_.empty()) return kHookCountBesideLongTexts;
    return huge_blocks_ > 0 ? kHookCountBesideHugeBlocks : kHookCount;
  }
  // What functions of ours count before they look, who know how long they take.
  int charged_between_looks() const noexcept { return 4 * instructions_between_looks(); }
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
  std::unordered_map<const void*, std::shared_ptr<void>> kept_;  // by their types' keys
  SmallBlocks small_blocks_;
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
  } catch (const std::exception& error) {
    LuaState::raise_caught(lua, error);
  }
}

/// Pushes a function of ours with `upvalues`, which are on top.
template <int (*kFunction)(lua_State*)>
void push_function(lua_State* lua, int upvalues = 0) {
  lua_pushcclosure(lua, &guarded<kFunction>, upvalues);
}

/// Pushes a boolean, a number, a text or, for nullptr, nil; returns 1, the number of values.
template <class T>
int push(lua_State* lua, const T& value) {
  if constexpr (std::is_null_pointer_v<T>) {
    lua_pushnil(lua);
  } else if constexpr (std::is_same_v<T, bool>) {
    lua_pushboolean(lua, value ? 1 : 0);
  } else if constexpr (std::is_integral_v<T>) {
    lua_pushinteger(lua, static_cast<lua_Integer>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    lua_pushnumber(lua, value);
  } else {
    const std::string_view text(value);
    lua_pushlstring(lua, text.data(), text.size());
  }
  return 1;
}

/// Sets a function of ours in the table on top.
template <int (*kFunction)(lua_State*)>
void set_function(lua_State* lua, const char* name) {
  push_function<kFunction>(lua);
  lua_setfield(lua, -2, name);
}

}  // namespace cupel::scripting_detail
