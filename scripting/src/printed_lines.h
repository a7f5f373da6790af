#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::scripting_detail {

/// The lines that a script prints. They are kept until a rule judges in the state of the script,
/// and go to the log from then on. A script in whose state no rule judges prints nothing.
class PrintedLines {
 public:
  /// Keeps the line, the first hundred of each phase, or logs it.
  void add(std::string_view line);
  /// Begins a phase: needs() after the run of the file.
  void begin_phase();
  /// Logs the lines that were kept, as those of the rule `rule`, and each line that follows.
  void begin(const std::string& rule);

 private:
  std::string rule_;  // empty: there is none yet
  std::vector<std::string> kept_;
  std::size_t in_phase_ = 0;
};

}  // namespace cupel::scripting_detail
