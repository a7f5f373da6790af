#include "cupel/core/mode.h"

#include <algorithm>
#include <string>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"

namespace cupel {

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::Train:
      return "TRAIN";
    case Mode::Eval:
      return "EVAL";
    case Mode::Predict:
      return "PREDICT";
    case Mode::Global:
      return "GLOBAL";
  }
  return "(no mode)";
}

Mode parse_mode(std::string_view text) {
  const auto same = [text](Mode mode) { return same_but_for_case(text, to_string(mode)); };
  const auto found = std::ranges::find_if(kAllModes, same);
  if (found != kAllModes.end()) return *found;
  throw UsageError("A mode is one of TRAIN, EVAL, PREDICT, GLOBAL: got '" + std::string(text) +
                   "'");
}

}  // namespace cupel
