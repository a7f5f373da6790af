#pragma once

namespace cupel::writer_detail {

/// Whether hooks are to save at all: USE_SMDEBUG, which is `y yes t true on 1` or `n no f false off
/// 0` in any case. Unset, or set to nothing: true. Another value is UsageError that names variable
/// and value. Any thread, as long as nobody changes the environment.
bool saving_enabled();

}  // namespace cupel::writer_detail
