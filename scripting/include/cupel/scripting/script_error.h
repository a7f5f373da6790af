#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cupel/core/error.h"

namespace cupel {

/// Which of its limits a script has reached; None: it failed by itself.
enum class ScriptLimit : std::uint8_t { None, Instructions, Memory, Clock };
std::string_view to_string(ScriptLimit limit) noexcept;

/// A script that cannot be read, or that failed while it ran.
struct ScriptError : Error {
  ScriptError(std::string in_chunk, std::int64_t at_line, std::string_view what_is_wrong,
              ScriptLimit reached = ScriptLimit::None, std::string called_from = {});
  std::string chunk;    ///< The file's name.
  std::int64_t line;    ///< 0 where it is not known.
  std::string problem;  ///< What is wrong, without the place.
  ScriptLimit limit;
  std::string traceback;  ///< Who called whom, a line each.
};

}  // namespace cupel
