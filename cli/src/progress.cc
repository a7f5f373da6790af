#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "amount_text.h"
#include "bar_text.h"
#include "text_width.h"

namespace cupel {
namespace {

constexpr std::chrono::milliseconds kPatience(1000);  // less than this is not worth a line
constexpr std::chrono::milliseconds kRedraw(100);
constexpr std::size_t kBarCells = 20;

Progress::Terminal standard_error() {
  const char* const kind = std::getenv("TERM");
  const bool can_draw = kind != nullptr && std::string_view(kind) != "dumb";
  if (!can_draw || ::isatty(STDERR_FILENO) == 0) return {};
  Progress::Terminal terminal{.out = &std::cerr};
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = size.ws_col;
  return terminal;
}

// A bar and the blanks behind it.
std::string bar(double share) {
  std::string text = bar_text(share, kBarCells);
  text.append(kBarCells - text_width(text), ' ');
  return text;
}

}  // namespace

Progress::Progress(std::string what, Unit unit)
    : Progress(std::move(what), unit, standard_error()) {}

Progress::Progress(std::string what, Unit unit, Terminal terminal)
    : what_(std::move(what)),
      unit_(unit),
      terminal_(std::move(terminal)),
      begin_(terminal_.now()) {}

Progress::~Progress() { wipe(); }

void Progress::operator()(std::uint64_t done, std::uint64_t total) {
  if (terminal_.out == nullptr) return;
  const Clock::time_point now = terminal_.now();
  if (now - begin_ < kPatience || (drawn_ && now - *drawn_ < kRedraw)) return;
  drawn_ = now;
  visible_ = true;
  *terminal_.out << '\r' << line(std::min(done, total), total) << "\x1b[K" << std::flush;
}

void Progress::wipe() {
  if (!std::exchange(visible_, false)) return;
  *terminal_.out << "\r\x1b[K" << std::flush;
}

std::string Progress::line(std::uint64_t done, std::uint64_t total) const {
  const double share = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  const std::string percent = std::to_string(static_cast<int>(share * 100));
  std::string text = what_ + "  [";
  auto columns = text.size() + kBarCells;
  text += bar(share);
  std::string rest = "]  " + std::string(3 - percent.size(), ' ') + percent + " %";
  const std::string amounts = unit_ == Unit::Bytes
                                  ? bytes_text(done) + " of " + bytes_text(total)
                                  : std::to_string(done) + " of " + std::to_string(total);
  if (columns + rest.size() + 2 + amounts.size() < static_cast<std::size_t>(terminal_.columns))
    rest += "  " + amounts;
  columns += rest.size();
  // A line that is broken cannot be wiped away.
  if (columns >= static_cast<std::size_t>(terminal_.columns))
    return what_.substr(0, 10) + rest.substr(1);
  return text + rest;
}

}  // namespace cupel
