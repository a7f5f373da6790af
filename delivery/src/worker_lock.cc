#include "cupel/delivery/worker_lock.h"

#include "cupel/core/error.h"
#include "cupel/format/layout.h"

namespace cupel {

std::unique_ptr<WorkerLock> WorkerLock::try_acquire(const std::string& directory,
                                                    std::string_view worker, FileAccess access) {
  const std::string name = lock_name(worker);
  const bool was_there = LocalStore(directory).stat(name).has_value();
  auto lock = DirectoryLock::try_acquire(directory, name, access);
  if (lock == nullptr) return nullptr;
  return std::unique_ptr<WorkerLock>(new WorkerLock(std::move(lock), was_there));
}

std::unique_ptr<WorkerLock> WorkerLock::acquire(const std::string& directory,
                                                std::string_view worker, std::string_view run,
                                                FileAccess access) {
  auto lock = try_acquire(directory, worker, access);
  if (lock != nullptr) return lock;
  std::string problem = "another process is writing this run as the same worker: ";
  problem.append(run).append(", ").append(worker);
  if (run != directory) problem += ", in the directory " + directory;
  throw UsageError(problem);
}

}  // namespace cupel
