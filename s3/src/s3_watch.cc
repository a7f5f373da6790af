// Watches a prefix of a bucket by comparing listings.
//
// One thread waits; wake() may come from any other, and stops a listing that is under way. The
// pause between two listings is shortest after a change and doubles while nothing changes, because
// each listing costs money. A request that fails is not retried and counts as no change; the next
// listing finds what has changed. The session of a listing is made for it alone, so that stopping
// it leaves the store usable.

#include "s3_watch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "listing.h"
#include "session.h"

namespace cupel::s3_detail {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLongestWait = std::chrono::hours(24 * 365);

/// One of so many requests reads a listing of several pages from its beginning; the others read
/// what is new behind its end.
constexpr int kLooksPerWhole = 16;

class S3Watch final : public Watch {
 public:
  S3Watch(std::shared_ptr<S3Client> client, const Configuration& configuration, S3Location location,
          std::string_view prefix)
      : client_(std::move(client)),
        configuration_(configuration),
        location_(std::move(location)),
        prefix_(prefix),
        pause_(configuration.options.shortest_look) {
    // A failed request is not retried: the watch lists again soon.
    configuration_.options.attempts = 1;
    look(true);
  }

  bool changed() override { return look(true); }

  bool wait(milliseconds at_most) override {
    const auto deadline = Clock::now() + std::clamp(at_most, milliseconds(0), kLongestWait);
    for (;;) {
      if (Clock::now() >= next_look_ && !is_woken() && look(false)) {
        take_wake();
        return true;
      }
      MutexLock lock(mutex_);
      woken_or_.wait_until(lock, std::min(deadline, next_look_),
                           [&]() CUPEL_REQUIRES(mutex_) { return woken_; });
      if (std::exchange(woken_, false) || Clock::now() >= deadline) return false;
    }
  }

  void wake() override {
    const MutexLock lock(mutex_);
    woken_ = true;
    if (looking_ != nullptr) looking_->stop();
    woken_or_.notify_all();
  }

 private:
  bool is_woken() {
    const MutexLock lock(mutex_);
    return woken_;
  }
  void take_wake() {
    const MutexLock lock(mutex_);
    woken_ = false;
  }

  /// Lists, and returns whether anything differs from the previous listing. A listing of one page
  /// is always read whole, since that is one request anyway. Of a longer listing most calls read
  /// the new objects at its end, where runs grow.
  bool look(bool whole) {
    whole = whole || known_.size() < kPage || ++looks_ % kLooksPerWhole == 0;
    bool differs = false;
    if (auto now = list(whole ? std::string() : known_.back().key)) {
      if (!whole) {
        differs = !now->empty();
        known_.insert(known_.end(), now->begin(), now->end());
      } else {
        const auto same = [](const ObjectInfo& a, const ObjectInfo& b) {
          return a.size == b.size && a.key == b.key && a.identity == b.identity;
        };
        differs = !std::ranges::equal(*now, known_, same);
        known_ = *std::move(now);
      }
    }
    const S3Options& options = configuration_.options;
    pause_ = differs ? options.shortest_look : std::min(2 * pause_, options.longest_look);
    next_look_ = Clock::now() + pause_;
    return differs;
  }

  /// Returns nothing when the request fails: the next one will find the changes.
  std::optional<std::vector<ObjectInfo>> list(const std::string& after) {
    Session session(client_, configuration_, location_);
    const Looking looking(*this, session);
    try {
      return list_objects(session, prefix_, after);
    } catch (const StoreError&) {
      return std::nullopt;
    }
  }

  /// Registers the session while it lists, so that wake() can stop it.
  class Looking {
   public:
    Looking(S3Watch& watch, Session& session) : watch_(watch) { set(&session); }
    ~Looking() { set(nullptr); }
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;

   private:
    void set(Session* session) {
      const MutexLock lock(watch_.mutex_);
      watch_.looking_ = session;
    }
    S3Watch& watch_;
  };

  const std::shared_ptr<S3Client> client_;
  Configuration configuration_;
  const S3Location location_;
  const std::string prefix_;
  std::vector<ObjectInfo> known_;
  milliseconds pause_;
  Clock::time_point next_look_{};
  int looks_ = 0;

  Mutex mutex_;
  ConditionVariable woken_or_;
  bool woken_ CUPEL_GUARDED_BY(mutex_) = false;
  Session* looking_ CUPEL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

std::unique_ptr<Watch> watch_bucket(std::shared_ptr<S3Client> client,
                                    const Configuration& configuration, const S3Location& location,
                                    std::string_view prefix) {
  return std::make_unique<S3Watch>(std::move(client), configuration, location, prefix);
}

}  // namespace cupel::s3_detail
