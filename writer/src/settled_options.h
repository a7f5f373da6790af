#pragma once

#include "cupel/writer/hook_options.h"

namespace cupel::writer_detail {

// Worker names of a run begin with this one, which writes even where one worker does.
inline constexpr const char* kChief = "worker_0";

// Options as they hold in this process: the worker's name and number come from the launcher where
// the options lack them, and no wait is longer than a clock can add. Throws UsageError for illegal
// values.
HookOptions settled_options(HookOptions options);

}  // namespace cupel::writer_detail
