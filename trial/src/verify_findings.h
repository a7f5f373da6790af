#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/trial/verify_run.h"

namespace cupel::trial_detail {

/// The findings of a check so far. A limited number of each file is kept, and the rest is counted.
class VerifyFindings {
 public:
  using Severity = VerifyFinding::Severity;

  void damage(const std::string& file, std::uint64_t offset, std::string problem) {
    add({Severity::Damage, file, offset, std::move(problem)});
  }
  void remark(const std::string& file, std::uint64_t offset, std::string problem) {
    add({Severity::Remark, file, offset, std::move(problem)});
  }
  /// Adds a finding with the file, the place and the text of the error.
  void add(Severity severity, const FormatError& error);
  void add(VerifyFinding finding);
  void add(const VerifyFindings& others);

  /// All findings by file, then offset; the number of those that were not kept comes at the end of
  /// their file.
  std::vector<VerifyFinding> in_order() const;

 private:
  struct NotKept {
    std::uint64_t remarks = 0, damages = 0;
  };
  std::vector<VerifyFinding> kept_;
  std::map<std::string, std::size_t> kept_of_file_;
  std::map<std::string, NotKept> not_kept_;
};

}  // namespace cupel::trial_detail
