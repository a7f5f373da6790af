#include "watch_status.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "amount_text.h"

namespace cupel::command_detail {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstStatus(1000);  // a shorter watch shows no line
constexpr milliseconds kNextStatus(500);

std::string age_text(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  if (seconds < 2 * kMinute) return std::to_string(seconds) + " s";
  if (seconds < 2 * kHour) return std::to_string(seconds / kMinute) + " min";
  return std::to_string(seconds / kHour) + " h";
}

}  // namespace

WatchStatus::WatchStatus(std::function<std::string()> text, StatusLine::Terminal terminal)
    : text_(std::move(text)), line_(std::move(terminal)) {
  if (line_.terminal().out != nullptr)
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

WatchStatus::~WatchStatus() = default;

void WatchStatus::step_aside(const std::function<void()>& write) {
  const std::lock_guard lock(mutex_);
  line_.wipe();
  write();
}

void WatchStatus::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  milliseconds pause = kFirstStatus;
  while (true) {
    changed_.wait_for(lock, stop, pause, [] { return false; });
    if (stop.stop_requested()) return;
    line_.show(text_());
    pause = kNextStatus;
  }
}

std::string watch_status_text(const RunnerProgress& progress, std::int64_t findings,
                              CommitTime newest_at, CommitTime now) {
  if (!progress.newest_step) return "no step yet";
  using std::chrono::seconds;
  // Converted to seconds before the subtraction, which would overflow: a run may name any time.
  const auto in_seconds = [](CommitTime time) {
    return std::chrono::floor<seconds>(time).time_since_epoch().count();
  };
  const std::int64_t age = in_seconds(now) - in_seconds(newest_at);
  std::string text = "newest step " + std::to_string(*progress.newest_step) + ", " +
                     std::to_string(progress.steps_judged) + " judged";
  if (progress.steps_behind > 0) text += ", " + std::to_string(progress.steps_behind) + " behind";
  return text + ", " + count_text(static_cast<std::uint64_t>(findings), "finding") +
         ", last step " + age_text(std::max<std::int64_t>(age, 0)) + " ago";
}

}  // namespace cupel::command_detail
