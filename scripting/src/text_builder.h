#pragma once

#include <cstddef>
#include <string_view>

#include "lua_state.h"

namespace cupel::scripting_detail {

/// Puts a text of a script together, in Lua's memory, and raises an error beyond kLongestText.
/// Takes one place of the stack, the top of it when it is made.
class TextBuilder {
 public:
  explicit TextBuilder(lua_State* lua, std::size_t expected = 0);
  void append(std::string_view text);
  /// Pushes the text.
  void push() const;

 private:
  void grow(std::size_t size);
  lua_State* lua_;
  int place_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t uncharged_ = 0;
};

}  // namespace cupel::scripting_detail
