#include "text_builder.h"

#include <algorithm>
#include <cstring>

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kFirstCapacity = 256;
constexpr std::size_t kBytesPerInstruction = 64;
constexpr std::size_t kBytesPerCharge = 8192;

}  // namespace

TextBuilder::TextBuilder(lua_State* lua, std::size_t expected) : lua_(lua) {
  lua_pushnil(lua);
  place_ = lua_gettop(lua);
  grow(expected);
}

void TextBuilder::grow(std::size_t size) {
  if (size > kLongestText) luaL_error(lua_, "a text of more than 1 MiB");
  const std::size_t capacity =
      std::min(kLongestText, std::max({size, 2 * capacity_, kFirstCapacity}));
  auto* const data = static_cast<char*>(lua_newuserdatauv(lua_, capacity, 0));
  if (size_ > 0) std::memcpy(data, data_, size_);
  lua_replace(lua_, place_);
  data_ = data;
  capacity_ = capacity;
}

void TextBuilder::append(std::string_view text) {
  if (text.size() > capacity_ - size_) grow(size_ + text.size());
  if (text.empty()) return;
  uncharged_ += text.size();
  if (uncharged_ >= kBytesPerCharge) {
    LuaState::of(lua_).charge(lua_, static_cast<std::int64_t>(uncharged_ / kBytesPerInstruction));
    uncharged_ = 0;
  }
  std::memcpy(data_ + size_, text.data(), text.size());
  size_ += text.size();
}

void TextBuilder::push() const { lua_pushlstring(lua_, data_, size_); }

}  // namespace cupel::scripting_detail
