#include "cupel/format/format_limits.h"

#include <utility>

namespace cupel {
namespace {

FormatLimits& limits_of_process() noexcept {
  static FormatLimits limits;
  return limits;
}

}  // namespace

const FormatLimits& format_limits() noexcept { return limits_of_process(); }

namespace format_detail {

FormatLimitsForTest::FormatLimitsForTest(const FormatLimits& limits)
    : before_(std::exchange(limits_of_process(), limits)) {}
FormatLimitsForTest::~FormatLimitsForTest() { limits_of_process() = before_; }

}  // namespace format_detail
}  // namespace cupel
