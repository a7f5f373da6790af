#pragma once

#include <cstddef>
#include <iosfwd>

namespace cupel {

/// What the lines of a stream are made for.
struct Terminal {
  std::size_t columns = 0;  ///< The width that lines fit into; 0: lines are as long as they are.
  bool colour = false;      ///< The reader is a terminal that shows colours.
};

/// The terminal behind a file descriptor. The width is that of `COLUMNS` in the environment, else
/// the terminal's own; a pipe or a file has the first alone. Colours are for terminals without
/// `NO_COLOR` and with a `TERM` other than "dumb".
Terminal terminal_at(int descriptor);

/// The terminal that a stream was given by set_terminal(); by default no columns and no colour, as
/// for programs and tests.
Terminal terminal_of(std::ios_base& stream);
void set_terminal(std::ios_base& stream, Terminal terminal);

/// The columns of the stream's terminal, else `otherwise`.
std::size_t columns_of(std::ios_base& stream, std::size_t otherwise);

/// Gives a stream another terminal, until it is destroyed.
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

}  // namespace cupel
