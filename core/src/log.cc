#include "cupel/core/log.h"

#include <pthread.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/mutex.h"
#include "cupel/core/printable.h"

namespace cupel {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

LogSink standard_error_sink() {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("cupel", std::move(sink));
  const std::optional<LogLevel> least = log_level();
  logger->set_level(least ? spdlog_level(*least) : spdlog::level::off);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n %^%l%$: %v");
  return [logger = std::move(logger)](LogLevel level, std::string_view message) {
    logger->log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
  };
}

struct Sinks {
  Mutex mutex;
  // Empty until the first message: then the default sink is made.
  LogSink current CUPEL_GUARDED_BY(mutex);
};

Sinks& sinks();

// A message that a sink logs is dropped: the sink would wait for itself.
thread_local bool inside_sink = false;

// A thread that forks holds the mutex meanwhile: in the child nobody would unlock it for another.
// A sink that forks holds it already.
void lock_before_fork() CUPEL_UNCHECKED_LOCKS {
  if (!inside_sink) sinks().mutex.lock();
}
void unlock_after_fork() CUPEL_UNCHECKED_LOCKS {
  if (!inside_sink) sinks().mutex.unlock();
}

// Never destroyed: threads and static objects may log while the process ends.
Sinks& sinks() {
  static Sinks& instance = *new Sinks;
  static const int with_forks =
      pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
  static_cast<void>(with_forks);  // Without memory for it, only children that log are at risk.
  return instance;
}

// Returns whether the message needs neither escaping nor cutting.
bool is_plain(std::string_view text) noexcept {
  return text.size() <= kMostMessageBytes &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
}

}  // namespace

std::optional<LogLevel> log_level() {
  const char* text = std::getenv("CUPEL_LOG_LEVEL");
  if (text == nullptr) text = std::getenv("SMDEBUG_LOG_LEVEL");
  const std::string name = text == nullptr ? "" : lower_case(text);
  if (name == "debug") return LogLevel::Debug;
  if (name == "info") return LogLevel::Info;
  if (name == "error") return LogLevel::Error;
  if (name == "off") return std::nullopt;
  return LogLevel::Warning;
}

void set_log_sink(LogSink sink) {
  Sinks& all = sinks();
  const MutexLock lock(all.mutex);
  all.current = std::move(sink);
}

void log(LogLevel level, std::string_view message) noexcept {
  if (inside_sink) return;
  inside_sink = true;
  try {
    Sinks& all = sinks();
    const MutexLock lock(all.mutex);
    if (!all.current) all.current = standard_error_sink();
    // A plain message is passed as it is: where memory is short, copying it would lose it.
    if (is_plain(message))
      all.current(level, message);
    else
      all.current(level, printable(message, kMostMessageBytes));
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nowhere left to report to
  }
  inside_sink = false;
}

}  // namespace cupel
