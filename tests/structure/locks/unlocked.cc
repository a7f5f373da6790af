// Uses members without their locks: clang must refuse each function that is named so.

#include "cupel/core/mutex.h"

namespace cupel {

class Counter {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
  }
  void wait_for(int count) {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() CUPEL_REQUIRES(mutex_) { return count_ >= count; });
  }
  int read() const {
    const ReaderLock lock(shared_);
    return limit_;
  }
#ifdef CUPEL_UNLOCKED
  int read_without_lock() const { return count_; }
  void add_behind_unlock() {
    MutexLock lock(mutex_);
    lock.unlock();
    ++count_;
  }
  void write_as_reader() {
    const ReaderLock lock(shared_);
    limit_ = 1;
  }
#endif

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int count_ CUPEL_GUARDED_BY(mutex_) = 0;
  mutable SharedMutex shared_;
  int limit_ CUPEL_GUARDED_BY(shared_) = 0;
};

}  // namespace cupel
