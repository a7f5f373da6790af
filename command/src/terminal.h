#pragma once

#include <cstddef>
#include <iosfwd>

namespace cupel::command_detail {

/// The terminal that the lines of a stream are made for.
struct Terminal {
  std::size_t columns = 0;  ///< The greatest width of lines; 0: lines are not broken.
  bool colour = false;      ///< The terminal shows colours.
};

/// Returns the terminal behind a file descriptor. The width is `COLUMNS` of the environment, else
/// the width of the terminal; a pipe or a file has only the former. A terminal has colours unless
/// `NO_COLOR` is set or `TERM` is "dumb".
Terminal terminal_at(int descriptor);

/// Returns the terminal that set_terminal() gave the stream. Default: no columns and no colour, for
/// programs and tests.
Terminal terminal_of(std::ios_base& stream);
void set_terminal(std::ios_base& stream, Terminal terminal);

/// Returns the columns of the stream's terminal, or `otherwise` where it has none.
std::size_t columns_of(std::ios_base& stream, std::size_t otherwise);

/// Gives a stream another terminal for the life of the object.
class TerminalScope {
 public:
  TerminalScope(std::ios_base& stream, Terminal terminal)
      : stream_(stream), before_(terminal_of(stream)) {
    set_terminal(stream, terminal);
  }
  ~TerminalScope() { set_terminal(stream_, before_); }
  TerminalScope(const TerminalScope&) = delete;
  TerminalScope& operator=(const TerminalScope&) = delete;

 private:
  std::ios_base& stream_;
  const Terminal before_;
};

}  // namespace cupel::command_detail
