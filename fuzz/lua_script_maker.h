#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Makes a file of rules from any bytes: one that can be read, whose functions call what scripts
/// may call, in any order and with any arguments. The same bytes make the same file.
std::string make_lua_script(std::span<const std::uint8_t> bytes);
