#include "printed_lines.h"

#include <algorithm>
#include <utility>

#include "cupel/core/log.h"
#include "cupel/core/printable.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kMostKept = 100;  // of each phase

// Between what was printed together there is a tab, which a line of the log would show as \x09.
void log_line(const std::string& rule, std::string line) {
  std::replace(line.begin(), line.end(), '\t', ' ');
  log(LogLevel::Warning, rule + ": " + printable(line));
}

}  // namespace

void PrintedLines::add(std::string_view line) {
  if (!rule_.empty())
    log_line(rule_, std::string(line));
  else if (++in_phase_ <= kMostKept)
    kept_.emplace_back(line);
}

void PrintedLines::begin_phase() {
  if (in_phase_ > kMostKept)
    kept_.push_back("and " + std::to_string(in_phase_ - kMostKept) + " more lines");
  in_phase_ = 0;
}

void PrintedLines::begin(const std::string& rule) {
  begin_phase();
  rule_ = rule;
  for (std::string& line : kept_) log_line(rule_, std::move(line));
  kept_.clear();
}

}  // namespace cupel::scripting_detail
