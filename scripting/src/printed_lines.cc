#include "printed_lines.h"

#include <algorithm>
#include <utility>

#include "cupel/core/log.h"
#include "cupel/core/printable.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kMostKept = 100;

// Between what was printed together there is a tab, which a line of the log would show as \x09.
void log_line(const std::string& rule, std::string line) {
  std::replace(line.begin(), line.end(), '\t', ' ');
  log(LogLevel::Warning, rule + ": " + printable(line));
}

}  // namespace

void PrintedLines::add(std::string_view line) {
  if (!rule_.empty())
    log_line(rule_, std::string(line));
  else if (kept_.size() < kMostKept)
    kept_.emplace_back(line);
  else
    ++dropped_;
}

void PrintedLines::begin(const std::string& rule) {
  rule_ = rule;
  for (std::string& line : kept_) log_line(rule_, std::move(line));
  if (dropped_ > 0) log_line(rule_, "and " + std::to_string(dropped_) + " more lines");
  kept_.clear();
}

}  // namespace cupel::lua
