#include "cupel/scripting/script_error.h"

#include <utility>

namespace cupel {
namespace {

std::string message_of(const std::string& chunk, std::int64_t line, std::string_view problem) {
  std::string text = chunk;
  if (line > 0) text += ":" + std::to_string(line);
  return text.append(": ").append(problem);
}

}  // namespace

std::string_view to_string(ScriptLimit limit) noexcept {
  switch (limit) {
    case ScriptLimit::None:
      return "none";
    case ScriptLimit::Instructions:
      return "instructions";
    case ScriptLimit::Memory:
      return "memory";
    case ScriptLimit::Clock:
      return "clock";
  }
  return "";
}

ScriptError::ScriptError(std::string in_chunk, std::int64_t at_line, std::string_view what_is_wrong,
                         ScriptLimit reached, std::string called_from)
    : Error(message_of(in_chunk, at_line, what_is_wrong)),
      chunk(std::move(in_chunk)),
      line(at_line),
      problem(what_is_wrong),
      limit(reached),
      traceback(std::move(called_from)) {}

}  // namespace cupel
