#include "command_log.h"

#include <optional>
#include <string>
#include <string_view>

#include "cupel/core/printable.h"

namespace cupel::command_detail {
namespace {

// An error has no prefix: it is like the error messages of the command itself.
std::string_view level_prefix(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return "debug: ";
    case LogLevel::Info:
      return "info: ";
    case LogLevel::Warning:
      return "warning: ";
    case LogLevel::Error:
      break;
  }
  return "";
}

}  // namespace

LogSink command_log_sink(const std::string& command, Printer err) {
  return [begin = printable(command) + ": ", least = log_level(), err](LogLevel level,
                                                                       std::string_view message) {
    if (!least || level < *least) return;
    // With one write, since several threads may log.
    err << Composed{begin + std::string(level_prefix(level)) +
                    printable(message, kMostMessageBytes) + "\n"}
        << std::flush;
  };
}

}  // namespace cupel::command_detail
