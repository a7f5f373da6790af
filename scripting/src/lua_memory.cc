// The limits, and why each holds:
//
// memory        the allocator refuses. Lua then collects what is garbage and asks once more; if it
//               is refused again, there is an error, which pcall and resume find by its status.
//               What functions of ours take beside Lua's memory they hold() first.
// instructions  a hook is called every kHookCount of them. Functions of ours, in which no hook is
//               called, count what they do by charge(). A coroutine counts from its creation, so
//               that is charged as much as it may do unseen.
// clock         read by both, between the pieces that the parser gets, and before memory
//               is refused, since what follows takes long where much is alive: behind it, nothing
//               is given any more.
//
// A limit raises no error of Lua's but an exception that Lua lets through (its status is
// -1): an error that is raised in a hook would first call the message handler of an xpcall, with
// hooks off.
//
// A single instruction may take long only by its operands: by long texts, to which the allocator
// sets a limit, and by the many values on a large stack, beside which the hook is called more
// often; and by large blocks, after whose allocation it is called at once.

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "lua_state.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongText = std::size_t{32} << 10U;
constexpr std::size_t kLargeBlock = std::size_t{64} << 10U;
constexpr std::size_t kHugeBlock = std::size_t{2} << 20U;
// What a string takes beside its bytes, and more.
constexpr std::size_t kTextOverhead = 64;
// Collecting garbage marks and sweeps some ten objects per KiB.
constexpr std::int64_t kCollectingPerKiB = 8;
constexpr std::size_t kHeldBeforeCollection = std::size_t{2} << 20U;
constexpr std::size_t kHeldPerLuaByte = 16;
// The content of a userdata.
struct Reference {
  void* object;
  const void* type;
};

// A userdata that refers to nothing yet.
Reference& push_empty(lua_State* lua, int user_values) {
  void* const block = lua_newuserdatauv(lua, sizeof(Reference), user_values);
  return *new (block) Reference{nullptr, nullptr};
}

// The userdata is on top. Allocates nothing.
void refer_to(lua_State* lua, Reference& reference, void* object, const void* type) {
  reference = {object, type};
  if (lua_rawgetp(lua, LUA_REGISTRYINDEX, type) == LUA_TTABLE)
    lua_setmetatable(lua, -2);
  else
    lua_pop(lua, 1);
}

// What an object of push_object takes with its places in tables of ours.
constexpr std::size_t kObject = 256;

// Blocks of that size come from the system and go back to it: when a table grows, the C library
// would keep all the blocks that it had before.
constexpr std::size_t kMapped = std::size_t{256} << 10U;
constexpr std::size_t kPage = 4096;

// What the C library takes for a block: 8 bytes beside it, in steps of 16, which is half as much
// again where a script has many small objects.
constexpr std::size_t taken_by(std::size_t size) noexcept {
  constexpr std::size_t kBeside = 8;
  constexpr std::size_t kStep = 16;
  constexpr std::size_t kLeast = 32;
  if (size == 0) return 0;
  if (size >= kMapped) return (size + kPage - 1) / kPage * kPage;
  return std::max(kLeast, (size + kBeside + kStep - 1) / kStep * kStep);
}

// What a block of the C library has room for, beside what it takes itself.
constexpr std::size_t room_in(std::size_t size) noexcept {
  constexpr std::size_t kBeside = 8;
  return size >= kMapped ? size : taken_by(size) - kBeside;
}

void give_back(void* block, std::size_t size) noexcept {
  if (size >= kMapped)
    ::munmap(block, size);
  else
    std::free(block);
}

// Like realloc, of a block whose size is known; 0: there is none.
void* resized(void* block, std::size_t before, std::size_t size) noexcept {
  if (before < kMapped && size < kMapped) return std::realloc(block, room_in(size));
  void* fresh = nullptr;
  if (before >= kMapped && size >= kMapped) {
    fresh = ::mremap(block, before, size, MREMAP_MAYMOVE);
    return fresh == MAP_FAILED ? nullptr : fresh;
  }
  if (size >= kMapped) {
    fresh = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return nullptr;
  } else {
    fresh = std::malloc(room_in(size));
    if (fresh == nullptr) return nullptr;
  }
  if (before > 0) {
    std::memcpy(fresh, block, std::min(before, size));
    give_back(block, before);
  }
  return fresh;
}

}  // namespace

std::size_t SmallBlocks::clear() noexcept {
  for (Block*& block : first_)
    while (block != nullptr) std::free(std::exchange(block, block->next));
  count_ = {};
  return std::exchange(bytes_, 0);
}

// Whether so many more bytes are within the limit, where need be without the blocks that are kept.
bool LuaState::fits(std::size_t bytes) noexcept {
  if (bytes <= limits_.memory - memory_) return true;
  memory_ -= small_blocks_.clear();
  return bytes <= limits_.memory - memory_;
}

bool LuaState::may_allocate(bool is_text, std::size_t before, std::size_t size) {
  if (size <= before) return true;
  const bool too_long = is_text && size > kLongestText + kTextOverhead;
  const bool has_room = fits(taken_by(size) - taken_by(before));
  if (running_ == nullptr || (has_room && !too_long && reached_ == ScriptLimit::None))
    return has_room && !too_long;
  refused_text_ = too_long;
  refusal_place_ = place_of(running_);
  if (reached_ == ScriptLimit::None && Clock::now() >= deadline_) reached_ = ScriptLimit::Clock;
  look_soon();
  return false;
}

void LuaState::look_soon() noexcept {
  // What was counted since the last look is forgotten by it.
  instructions_left_ -= kHookCount;
  counted_since_look_ = charged_between_looks();
  lua_sethook(running_, &LuaState::on_count, LUA_MASKCOUNT, 1);
}

void LuaState::count_block(std::size_t before, std::size_t size) noexcept {
  memory_ = memory_ - taken_by(before) + taken_by(size);
  if (before >= kHugeBlock) --huge_blocks_;
  if (size >= kHugeBlock) ++huge_blocks_;
}

void LuaState::free_block(void* block, std::size_t size) noexcept {
  // The bytes that are held for the object are released with it.
  if (size == object_block_size_ && objects_.erase(block) != 0) release(kObject);
  if (small_blocks_.keep(block, size)) return;
  if (size >= kLongText) long_texts_.erase(block);
  give_back(block, size);
  count_block(size, 0);
}

void* LuaState::allocate(void* state, void* block, std::size_t old_size, std::size_t new_size) {
  auto& self = *static_cast<LuaState*>(state);
  // The old size of a new block is its kind.
  const std::size_t before = block == nullptr ? 0 : old_size;
  if (new_size == 0) {
    if (block != nullptr) self.free_block(block, before);
    return nullptr;
  }
  const bool is_text = block == nullptr && old_size == LUA_TSTRING;
  void* fresh = nullptr;
  if (block == nullptr && self.reached_ == ScriptLimit::None)
    fresh = self.small_blocks_.take(new_size);
  if (fresh != nullptr) {
    if (old_size == LUA_TUSERDATA) self.newest_userdata_ = fresh;
    if (old_size == LUA_TUSERDATA) self.newest_userdata_size_ = new_size;
    return fresh;
  }
  try {
    if (!self.may_allocate(is_text, before, new_size)) return nullptr;
    fresh = resized(block, before, new_size);
    if (fresh == nullptr) return nullptr;
    if (is_text && new_size >= kLongText) self.long_texts_.insert(fresh);
  } catch (const std::bad_alloc&) {
    if (fresh != nullptr) give_back(fresh, new_size);  // a text's, which is new
    return nullptr;
  }
  if (block == nullptr && old_size == LUA_TUSERDATA) {
    self.newest_userdata_ = fresh;
    self.newest_userdata_size_ = new_size;
  }
  self.count_block(before, new_size);
  if (new_size >= kLargeBlock && new_size > before && self.running_ != nullptr) self.look_soon();
  return fresh;
}

void LuaState::make_room(lua_State* lua, std::size_t bytes) {
  if (!fits(bytes)) lua_gc(lua, LUA_GCCOLLECT);
}

void LuaState::collect(lua_State* lua) {
  charge(lua, kCollectingPerKiB * lua_gc(lua, LUA_GCCOUNT));
  lua_gc(lua, LUA_GCCOLLECT);
  held_since_collection_ = 0;
}

void LuaState::hold(lua_State* lua, std::size_t bytes) {
  if (!fits(bytes) && bytes <= limits_.memory) collect(lua);
  if (!fits(bytes)) {
    refused_text_ = false;
    raise_no_memory(lua);
  }
  // Lua's collector knows only of Lua's memory. What it does not know of is collected soon, so that
  // the same few pages are used again and again, but not so often that it would be felt.
  held_since_collection_ += bytes;
  const auto lua_memory = static_cast<std::size_t>(lua_gc(lua, LUA_GCCOUNT)) << 10U;
  if (held_since_collection_ >= std::max(kHeldBeforeCollection, kHeldPerLuaByte * lua_memory))
    collect(lua);
  memory_ += bytes;
}

void LuaState::push_reference(lua_State* lua, void* object, const void* type, int user_values) {
  refer_to(lua, push_empty(lua, user_values), object, type);
}

void* LuaState::object_at(lua_State* lua, int place, const void* type) noexcept {
  // No other userdata is ever a script's value.
  if (lua_type(lua, place) != LUA_TUSERDATA) return nullptr;
  const auto& reference = *static_cast<const Reference*>(lua_touserdata(lua, place));
  return reference.type == type ? reference.object : nullptr;
}

void LuaState::push_object(lua_State* lua, std::shared_ptr<void> object, const void* type) {
  struct Counted {
    LuaState* state;
    ~Counted() {
      if (state != nullptr) state->release(kObject);
    }
  };
  hold(lua, kObject);
  Counted counted{this};
  Reference& reference = push_empty(lua, 0);
  object_block_size_ = newest_userdata_size_;
  void* const referred = object.get();
  objects_.emplace(newest_userdata_, std::move(object));
  counted.state = nullptr;  // it goes with the userdata
  refer_to(lua, reference, referred, type);
}

}  // namespace cupel::scripting_detail
