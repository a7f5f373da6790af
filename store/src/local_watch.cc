// LocalWatch waits for changes below a prefix of a directory.
//
// The kernel's notifications (Notifier) end the wait. Where there are none, or where they cannot
// see all writers, as on a network file system, listings are compared (Comparer), with pauses that
// double while nothing changes. When notifications get lost, a new Notifier is made, and that
// counts as a change. One thread waits; wake() may come from any other, by an eventfd. A directory
// that cannot be read counts as empty; only a watch without an eventfd is a StoreError.

#include "local_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "deadline.h"
#include "descriptor.h"
#include "directory.h"
#include "notifier.h"

namespace cupel::store_detail {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Finds changes by comparing listings.
class Comparer {
 public:
  Comparer(std::string root, std::string_view prefix)
      : root_(std::move(root)), prefix_(prefix), last_(look()) {}

  bool changed() {
    auto now = look();
    const auto same = [](const ObjectInfo& a, const ObjectInfo& b) {
      return a.size == b.size && a.key == b.key && a.identity == b.identity;
    };
    const bool differs = !std::ranges::equal(now, last_, same);
    last_ = std::move(now);
    pause_ = differs ? kShortest : std::min(2 * pause_, kLongest);
    return differs;
  }

  /// The pause before the next listing, which doubles while nothing changes.
  milliseconds pause() const noexcept { return pause_; }

 private:
  static constexpr milliseconds kShortest{10};
  static constexpr milliseconds kLongest{1000};

  /// Lists. A directory that cannot be read counts as empty, so that reading it again is a change.
  std::vector<ObjectInfo> look() const {
    try {
      return list_objects(root_, prefix_, {});
    } catch (const StoreError&) {
      return {};
    }
  }

  std::string root_;
  std::string prefix_;
  milliseconds pause_ = kShortest;
  std::vector<ObjectInfo> last_;
};

class LocalWatch final : public Watch {
 public:
  LocalWatch(std::string root, std::string_view prefix, WatchMethod method)
      : root_(std::move(root)), prefix_(prefix), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) fail(root_, prefix_, "watch the directory", errno);
    if (method == WatchMethod::Notify) notifier_ = Notifier::create(root_, prefix_);
    if (!notifier_) comparer_.emplace(root_, prefix_);
  }

  bool changed() override {
    if (comparer_) return comparer_->changed();
    const Notifier::News news = notifier_->take();
    if (news == Notifier::News::Lost) {
      notifier_.reset();
      notifier_ = Notifier::create(root_, prefix_);
      if (!notifier_) comparer_.emplace(root_, prefix_);
    }
    return news != Notifier::News::None;
  }

  bool wait(milliseconds at_most) override {
    const auto deadline = deadline_after(at_most);
    for (;;) {
      if (changed()) {
        take_wake();
        return true;
      }
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (take_wake() || left <= milliseconds(0)) return false;
      sleep(comparer_ ? std::min(left, comparer_->pause()) : left);
    }
  }

  void wake() override {
    const std::uint64_t one = 1;
    // The write fails only where the counter is full, and then the wait ends anyway.
    static_cast<void>(!::write(wake_.get(), &one, sizeof one));
  }

 private:
  bool take_wake() noexcept {
    std::uint64_t count = 0;
    return ::read(wake_.get(), &count, sizeof count) == sizeof count;
  }

  /// Returns early after wake(), a notification, or a signal.
  void sleep(milliseconds at_most) const noexcept {
    std::array<pollfd, 2> sources = {
        pollfd{wake_.get(), POLLIN, 0},
        pollfd{notifier_ ? notifier_->descriptor() : -1, POLLIN, 0},
    };
    constexpr milliseconds kHour = std::chrono::hours(1);
    ::poll(sources.data(), sources.size(), static_cast<int>(std::min(at_most, kHour).count()));
  }

  std::string root_;
  std::string prefix_;
  Descriptor wake_;
  std::unique_ptr<Notifier> notifier_;  // either notifier_ or comparer_ is set
  std::optional<Comparer> comparer_;
};

}  // namespace

std::unique_ptr<Watch> watch_directory(const std::string& root, std::string_view prefix,
                                       WatchMethod method) {
  return std::make_unique<LocalWatch>(root, prefix, method);
}

}  // namespace cupel::store_detail
