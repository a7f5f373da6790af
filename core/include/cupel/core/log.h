#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cupel {

enum class LogLevel { Debug, Info, Warning, Error };

/// Receives what cupel logs; called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// Replaces the sink; an empty one restores the default, which writes to standard error at the
/// level that CUPEL_LOG_LEVEL (else SMDEBUG_LOG_LEVEL) names: debug, info, warning (default), error
/// or off.
void set_log_sink(LogSink sink);

/// Returns the least level that the variables above ask for; nothing where logging is off.
std::optional<LogLevel> log_level();

/// Logs one line, as printable() shows it; never throws.
void log(LogLevel level, std::string_view message) noexcept;

}  // namespace cupel
