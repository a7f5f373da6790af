#include "s3_watch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "listing.h"
#include "session.h"

namespace cupel::s3 {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLongestWait = std::chrono::hours(24 * 365);

/// How often a listing of several pages is read from its beginning, and not only behind its end.
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
    // The next look is the retry.
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

  /// A listing of one page is always read whole: new, replaced and removed objects cost the same
  /// request. Of a longer one most looks read what is new at its end, where runs grow.
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

  /// Nothing when the service cannot be asked just now: the next look will tell.
  std::optional<std::vector<ObjectInfo>> list(const std::string& after) {
    Session session(client_, configuration_, location_);
    const Looking looking(*this, session);
    try {
      return list_objects(session, prefix_, after);
    } catch (const StoreError&) {
      return std::nullopt;
    }
  }

  /// Lets wake() end the session while it lists.
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

}  // namespace cupel::s3
