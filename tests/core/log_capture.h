#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/log.h"

namespace cupel::testing {

/// Collects what is logged while it lives.
class LogCapture {
 public:
  LogCapture() {
    set_log_sink([this](LogLevel level, std::string_view message) {
      lines_.emplace_back(level, std::string(message));
    });
  }
  ~LogCapture() { set_log_sink({}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  const std::vector<std::pair<LogLevel, std::string>>& lines() const { return lines_; }

 private:
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

}  // namespace cupel::testing
