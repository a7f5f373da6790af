#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cupel/store/local_store.h"

namespace cupel {

/// The lock of a worker on the local directory of its run: one process at a time writes, seals or
/// delivers the files of a worker. The lock dies with the process that holds it.
class WorkerLock {
 public:
  /// Takes the lock; null while another process or object holds it. Makes the directory if it is
  /// missing. Throws StoreError when the lock file cannot be made.
  static std::unique_ptr<WorkerLock> try_acquire(const std::string& directory,
                                                 std::string_view worker,
                                                 FileAccess access = FileAccess::Umask);
  /// Takes the lock for a writer. Throws UsageError while another process or object holds it; the
  /// message names `run`, the run's location as the user knows it.
  static std::unique_ptr<WorkerLock> acquire(const std::string& directory, std::string_view worker,
                                             std::string_view run, FileAccess access);

  /// Whether the lock file was there before. A file without a holder marks a run whose writer was
  /// killed.
  bool file_was_there() const noexcept { return file_was_there_; }
  /// Removes the lock file. The holder does nothing else with the run afterwards, because another
  /// process may take the next lock from then on.
  void remove_file() noexcept { lock_->remove_file(); }

 private:
  WorkerLock(std::unique_ptr<DirectoryLock> lock, bool file_was_there) noexcept
      : lock_(std::move(lock)), file_was_there_(file_was_there) {}

  std::unique_ptr<DirectoryLock> lock_;
  bool file_was_there_;
};

}  // namespace cupel
