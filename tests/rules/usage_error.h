#pragma once

#include <string>

#include "cupel/core/error.h"

namespace cupel::testing {

/// Returns the text of the UsageError that the call throws.
template <class F>
std::string usage_error(F&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace cupel::testing
