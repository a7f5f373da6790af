#include "verify_findings.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace cupel::trial_detail {

namespace {

constexpr std::size_t kKeptOfFile = 100;

}  // namespace

void VerifyFindings::add(Severity severity, const FormatError& error) {
  add({severity, error.file, error.offset, error.problem});
}

void VerifyFindings::add(VerifyFinding finding) {
  std::size_t& count = kept_of_file_[finding.file];
  if (count < kKeptOfFile) {
    ++count;
    kept_.push_back(std::move(finding));
    return;
  }
  NotKept& not_kept = not_kept_[finding.file];
  ++(finding.severity == Severity::Damage ? not_kept.damages : not_kept.remarks);
}

void VerifyFindings::add(const VerifyFindings& others) {
  for (const VerifyFinding& finding : others.kept_) add(finding);
  for (const auto& [file, more] : others.not_kept_) {
    not_kept_[file].remarks += more.remarks;
    not_kept_[file].damages += more.damages;
  }
}

std::vector<VerifyFinding> VerifyFindings::in_order() const {
  std::vector<VerifyFinding> findings = kept_;
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
    return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
  });
  for (const auto& [file, more] : not_kept_) {
    const auto behind = std::upper_bound(
        findings.begin(), findings.end(), file,
        [](const std::string& name, const VerifyFinding& finding) { return name < finding.file; });
    const std::uint64_t offset = behind == findings.begin() ? 0 : std::prev(behind)->offset;
    findings.insert(behind, {more.damages > 0 ? Severity::Damage : Severity::Remark, file, offset,
                             "and " + std::to_string(more.damages + more.remarks) + " more"});
  }
  return findings;
}

}  // namespace cupel::trial_detail
