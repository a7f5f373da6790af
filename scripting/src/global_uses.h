#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lua_state.h"

namespace cupel::scripting_detail {

/// A place at which a script reads or sets a global variable.
struct GlobalUse {
  std::string name;
  std::string chunk;
  std::int64_t line = 0;
  bool is_set = false;
};

/// All of the function on top, whether it ever gets there or not, and of those in it: from what the
/// compiler made of them. In the order of their lines.
std::vector<GlobalUse> global_uses(lua_State* lua, const std::string& chunk);

}  // namespace cupel::scripting_detail
