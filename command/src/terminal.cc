#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ios>
#include <string_view>
#include <system_error>

#include "cupel/core/number_text.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kLeastColumns = 20;  // a narrower terminal counts as this wide
constexpr std::size_t kMostColumns = 1000;

// The slots of a stream that hold its terminal (std::ios_base::xalloc).
int columns_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}
int colour_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// Returns 0 where `COLUMNS` is no number.
std::size_t columns_of_environment() {
  return parse_integer<std::size_t>(environment("COLUMNS")).value_or(0);
}

}  // namespace

Terminal terminal_at(int descriptor) {
  const bool is_terminal = ::isatty(descriptor) != 0;
  std::size_t columns = columns_of_environment();
  winsize size{};
  if (columns == 0 && is_terminal && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  if (columns > 0) columns = std::clamp(columns, kLeastColumns, kMostColumns);
  const std::string_view kind = environment("TERM");
  return {
      .columns = columns,
      .colour = is_terminal && !kind.empty() && kind != "dumb" && environment("NO_COLOR").empty()};
}

Terminal terminal_of(std::ios_base& stream) {
  return {.columns = static_cast<std::size_t>(stream.iword(columns_slot())),
          .colour = stream.iword(colour_slot()) != 0};
}

void set_terminal(std::ios_base& stream, Terminal terminal) {
  stream.iword(columns_slot()) = static_cast<long>(terminal.columns);
  stream.iword(colour_slot()) = terminal.colour ? 1 : 0;
}

std::size_t columns_of(std::ios_base& stream, std::size_t otherwise) {
  const std::size_t columns = terminal_of(stream).columns;
  return columns > 0 ? columns : otherwise;
}

}  // namespace cupel::command_detail
