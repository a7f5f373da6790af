#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/trial/verify_run.h"

namespace cupel::trial_detail {

/// What a check has found so far; of one file only so many findings are kept.
class Findings {
 public:
  using Severity = VerifyFinding::Severity;

  void damage(const std::string& file, std::uint64_t offset, std::string problem) {
    add({Severity::Damage, file, offset, std::move(problem)});
  }
  void remark(const std::string& file, std::uint64_t offset, std::string problem) {
    add({Severity::Remark, file, offset, std::move(problem)});
  }
  /// The error's own words: its file and place are the finding's.
  void add(Severity severity, const FormatError& error);
  void add(VerifyFinding finding);
  void add(const Findings& others);

  /// By file, then offset; what was not kept is counted at the end of its file.
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
