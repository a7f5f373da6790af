// Writes losses and metrics into files that another program collects, one line of JSON for each
// value. Values gather in memory on the training threads and are written when a step ends. A
// directory that cannot be written is one warning, and the log ends; saving is not concerned.

#include "metric_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/core/new_file.h"
#include "cupel/stats/statistics.h"

namespace cupel::writer_detail {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostWaiting = std::size_t{16} << 20U;

Json json_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

struct MetricLog::State {
  explicit State(std::string in) : directory(std::move(in)) {}
  ~State() {
    if (descriptor >= 0) ::close(descriptor);
  }

  void fail(std::string_view why) noexcept {
    if (failed.exchange(true)) return;
    try {
      log(LogLevel::Warning,
          "metrics are no longer logged: " + directory + ": " + std::string(why));
    } catch (const std::exception& error) {
      log(LogLevel::Warning, error.what());
    }
  }

  void open() CUPEL_REQUIRES(file_mutex) {
    if (!make_directories(directory, FileAccess::Umask))
      throw std::system_error(errno, std::generic_category(), "cannot make " + directory);
    const std::string file =
        (fs::path(directory) / (std::to_string(::getpid()) + ".json")).string();
    // Neither what a link points to nor a pipe, which could keep training waiting.
    descriptor = open_or_create_file(AT_FDCWD, file.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW,
                                     FileAccess::Umask);
    struct stat facts = {};
    if (descriptor < 0 || ::fstat(descriptor, &facts) != 0)
      throw std::system_error(errno, std::generic_category(), "cannot open " + file);
    if (!S_ISREG(facts.st_mode)) throw std::runtime_error("not a regular file: " + file);
  }

  void write(std::string_view lines) const CUPEL_REQUIRES(file_mutex) {
    if (!write_all(descriptor, std::as_bytes(std::span(lines))))
      throw std::system_error(errno, std::generic_category(), "cannot write");
  }

  const std::string directory;
  std::atomic<bool> failed{false};

  Mutex file_mutex;  // taken before the other; keeps the order of lines
  int descriptor CUPEL_GUARDED_BY(file_mutex) = -1;

  Mutex mutex;
  std::string waiting CUPEL_GUARDED_BY(mutex);
};

std::unique_ptr<MetricLog> MetricLog::from_environment() {
  const char* const directory = std::getenv("SAGEMAKER_METRICS_DIRECTORY");
  if (directory == nullptr || *directory == '\0') return nullptr;
  return std::make_unique<MetricLog>(directory);
}

MetricLog::MetricLog(std::string directory)
    : state_(std::make_unique<State>(std::move(directory))) {}

MetricLog::~MetricLog() { flush(); }

void MetricLog::add(std::string_view tensor, Mode mode, std::int64_t step,
                    const TensorView& value) noexcept {
  State& s = *state_;
  if (s.failed || value.defect() != nullptr || value.dtype() == DType::Utf8) return;
  try {
    const Json line = {{"MetricName", std::string(tensor) + '_' + std::string(to_string(mode))},
                       {"Value", json_of(compute_statistics(value).mean)},
                       {"Timestamp", seconds_since_1970()},
                       {"IterationNumber", step}};
    const std::string text = line.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
    const MutexLock lock(s.mutex);
    if (s.waiting.size() + text.size() > kMostWaiting)
      return s.fail("too many lines wait to be written");
    s.waiting += text;
  } catch (const std::exception& error) {
    s.fail(error.what());
  }
}

void MetricLog::flush() noexcept {
  State& s = *state_;
  if (s.failed) return;
  try {
    const MutexLock file_lock(s.file_mutex);
    std::string lines;
    {
      const MutexLock lock(s.mutex);
      lines.swap(s.waiting);
    }
    if (lines.empty()) return;
    if (s.descriptor < 0) s.open();
    s.write(lines);
  } catch (const std::exception& error) {
    s.fail(error.what());
  }
}

}  // namespace cupel::writer_detail
