#pragma once

#include <cstddef>
#include <utility>

#include "lua_state.h"

namespace cupel::scripting_detail {

/// Bytes that count against a state's memory as long as this lives.
class Held {
 public:
  Held(lua_State* lua, std::size_t bytes) : state_(&LuaState::of(lua)), bytes_(bytes) {
    state_->hold(lua, bytes);
  }
  Held(Held&& other) noexcept : state_(other.state_), bytes_(std::exchange(other.bytes_, 0)) {}
  Held& operator=(Held&&) = delete;
  ~Held() { state_->release(bytes_); }
  void add(lua_State* lua, std::size_t bytes) {
    state_->hold(lua, bytes);
    bytes_ += bytes;
  }

 private:
  LuaState* state_;
  std::size_t bytes_;
};

}  // namespace cupel::scripting_detail
