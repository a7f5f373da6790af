#include "progress.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "amount_text.h"
#include "bar_text.h"
#include "text_width.h"

namespace cupel::command_detail {
namespace {

constexpr std::chrono::milliseconds kPatience(1000);  // work that takes less time shows no line
constexpr std::chrono::milliseconds kRedraw(100);
constexpr std::size_t kBarCells = 20;

// Returns a bar and the blanks behind it.
std::string bar(double share) {
  std::string text = bar_text(share, kBarCells);
  text.append(kBarCells - text_width(text), ' ');
  return text;
}

}  // namespace

Progress::Progress(std::string what, Unit unit)
    : Progress(std::move(what), unit, StatusLine::standard_error()) {}

Progress::Progress(std::string what, Unit unit, Terminal terminal)
    : what_(std::move(what)),
      unit_(unit),
      line_(std::move(terminal)),
      begin_(line_.terminal().now()) {}

void Progress::operator()(std::uint64_t done, std::uint64_t total) {
  if (line_.terminal().out == nullptr) return;
  const Clock::time_point now = line_.terminal().now();
  if (now - begin_ < kPatience || (drawn_ && now - *drawn_ < kRedraw)) return;
  drawn_ = now;
  line_.show(text(std::min(done, total), total));
}

std::string Progress::text(std::uint64_t done, std::uint64_t total) const {
  const double share = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  const auto terminal = static_cast<std::size_t>(line_.terminal().columns);
  const std::string percent = std::to_string(static_cast<int>(share * 100));
  std::string begin = what_ + "  [";
  auto columns = begin.size() + kBarCells;
  begin += bar(share);
  std::string rest = "]  " + std::string(3 - percent.size(), ' ') + percent + " %";
  const std::string amounts = unit_ == Unit::Bytes
                                  ? bytes_text(done) + " of " + bytes_text(total)
                                  : std::to_string(done) + " of " + std::to_string(total);
  if (columns + rest.size() + 2 + amounts.size() < terminal) rest += "  " + amounts;
  columns += rest.size();
  // A line that the terminal has broken cannot be removed.
  if (columns >= terminal) return what_.substr(0, 10) + rest.substr(1);
  return begin + rest;
}

}  // namespace cupel::command_detail
