#include "status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "cupel/core/printable.h"
#include "cupel/core/utf8.h"
#include "text_width.h"

namespace cupel::command_detail {

StatusLine::Terminal StatusLine::standard_error() {
  const char* const kind = std::getenv("TERM");
  const bool can_draw = kind != nullptr && std::string_view(kind) != "dumb";
  if (!can_draw || ::isatty(STDERR_FILENO) == 0) return {};
  Terminal terminal{.out = &std::cerr};
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = size.ws_col;
  return terminal;
}

void StatusLine::show(std::string text) {
  if (terminal_.out == nullptr) return;
  text = printable(text);
  while (!text.empty() && text_width(text) >= static_cast<std::size_t>(terminal_.columns)) {
    while (is_continuation(text.back())) text.pop_back();
    text.pop_back();
  }
  visible_ = true;
  *terminal_.out << '\r' + text + "\x1b[K\r" << std::flush;
}

void StatusLine::wipe() {
  if (!std::exchange(visible_, false)) return;
  *terminal_.out << "\r\x1b[K" << std::flush;
}

}  // namespace cupel::command_detail
