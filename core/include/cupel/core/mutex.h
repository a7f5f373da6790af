#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <utility>

/// Locks whose use clang checks (-Wthread-safety, an error in the tests of tests/structure). A
/// member that threads share is beside its mutex and names it:
///
///     Mutex mutex_;
///     int count_ CUPEL_GUARDED_BY(mutex_) = 0;
///     void add_locked() CUPEL_REQUIRES(mutex_);  // the caller holds the mutex
///
///     const MutexLock lock(mutex_);
///     ++count_;
///
/// A lambda called with the mutex held is annotated: [this]() CUPEL_REQUIRES(mutex_) { … }. The
/// classes are those of the standard library and cost the same; other compilers see no annotations.

#if defined(__clang__)
#define CUPEL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CUPEL_THREAD_ANNOTATION(x)
#endif

/// The member may be used while the mutex is held only.
#define CUPEL_GUARDED_BY(mutex) CUPEL_THREAD_ANNOTATION(guarded_by(mutex))
/// The caller of the function holds the mutex.
#define CUPEL_REQUIRES(...) CUPEL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// The caller of the function does not hold the mutex.
#define CUPEL_EXCLUDES(...) CUPEL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
/// The function locks the mutex; without one, the object itself.
#define CUPEL_ACQUIRE(...) CUPEL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define CUPEL_TRY_ACQUIRE(...) CUPEL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define CUPEL_ACQUIRE_SHARED(...) CUPEL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
/// The function unlocks the mutex; without one, the object itself.
#define CUPEL_RELEASE(...) CUPEL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define CUPEL_RELEASE_SHARED(...) CUPEL_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define CUPEL_RELEASE_ANY(...) CUPEL_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
/// A class of mutexes, and a class of locks that hold one while they live.
#define CUPEL_CAPABILITY(name) CUPEL_THREAD_ANNOTATION(capability(name))
#define CUPEL_SCOPED_CAPABILITY CUPEL_THREAD_ANNOTATION(scoped_lockable)
/// The function is not checked; a comment gives the reason.
#define CUPEL_UNCHECKED_LOCKS CUPEL_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace cupel {

/// std::mutex.
class CUPEL_CAPABILITY("mutex") Mutex {
 public:
  void lock() CUPEL_ACQUIRE() { mutex_.lock(); }
  bool try_lock() CUPEL_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() CUPEL_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex while it lives, apart from the time between unlock() and lock().
class CUPEL_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CUPEL_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() CUPEL_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() CUPEL_ACQUIRE() { lock_.lock(); }
  void unlock() CUPEL_RELEASE() { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

/// Unlocks a mutex that the caller holds, and locks it again at the end of the scope, also
/// where an exception passes.
class CUPEL_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) CUPEL_RELEASE(mutex) : mutex_(mutex) { mutex.unlock(); }
  ~MutexUnlock() CUPEL_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// std::shared_mutex: held by one WriterLock, or by any number of ReaderLocks.
class CUPEL_CAPABILITY("mutex") SharedMutex {
 public:
  void lock() CUPEL_ACQUIRE() { mutex_.lock(); }
  void unlock() CUPEL_RELEASE() { mutex_.unlock(); }
  void lock_shared() CUPEL_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() CUPEL_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class CUPEL_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) CUPEL_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~WriterLock() CUPEL_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class CUPEL_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) CUPEL_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex.lock_shared();
  }
  ~ReaderLock() CUPEL_RELEASE_ANY() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// std::condition_variable, with a wait that a stop request ends as well. Each wait unlocks the
/// mutex meanwhile. The conditions are called with the mutex held, which clang cannot check here.
class ConditionVariable {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  template <class Condition>
  void wait(MutexLock& lock, Condition condition) CUPEL_UNCHECKED_LOCKS {
    changed_.wait(lock.lock_, std::move(condition));
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(MutexLock& lock, std::chrono::time_point<Clock, Duration> time) {
    return changed_.wait_until(lock.lock_, time);
  }
  template <class Clock, class Duration, class Condition>
  bool wait_until(MutexLock& lock, std::chrono::time_point<Clock, Duration> time,
                  Condition condition) CUPEL_UNCHECKED_LOCKS {
    return changed_.wait_until(lock.lock_, time, std::move(condition));
  }
  template <class Rep, class Period>
  std::cv_status wait_for(MutexLock& lock, std::chrono::duration<Rep, Period> time) {
    return changed_.wait_for(lock.lock_, time);
  }
  template <class Rep, class Period, class Condition>
  bool wait_for(MutexLock& lock, std::chrono::duration<Rep, Period> time,
                Condition condition) CUPEL_UNCHECKED_LOCKS {
    return changed_.wait_for(lock.lock_, time, std::move(condition));
  }

 private:
  std::condition_variable changed_;
};

/// std::condition_variable_any, whose waits a request to stop ends as well.
class StoppableCondition {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  /// Returns whether the condition holds at the end.
  template <class Condition>
  bool wait(MutexLock& lock, const std::stop_token& stop, Condition condition) {
    return changed_.wait(lock, stop, std::move(condition));
  }
  template <class Rep, class Period, class Condition>
  bool wait_for(MutexLock& lock, const std::stop_token& stop,
                std::chrono::duration<Rep, Period> time, Condition condition) {
    return changed_.wait_for(lock, stop, time, std::move(condition));
  }

 private:
  std::condition_variable_any changed_;
};

}  // namespace cupel
