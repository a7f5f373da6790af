// Looks through the directory of checkpoints, by descriptors and without following links, as
// training may replace anything there meanwhile. Runs on the training thread at each next_step():
// where the system notifies of changes, a look without news costs one system call. Directories
// deeper than 16 levels or with more than 10,000 entries are seen in part only.

#include "checkpoint_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/store/local_store.h"

namespace cupel::writer_detail {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

struct CloseListing {
  void operator()(DIR* listing) const noexcept { ::closedir(listing); }
};

bool is_checkpoint_name(std::string_view name) {
  return name != "metadata.json" && !name.ends_with(".tmp") &&
         name.find("sagemaker-uploaded") == std::string_view::npos;
}

}  // namespace

bool CheckpointFiles::changed() {
  const Clock::time_point now = Clock::now();
  if (watch_ != nullptr ? !watch_->changed() : now < next_look_) return false;
  const bool first = looks_ == 0;
  look();
  if (entries_ > kMostEntries) {
    watch_.reset();  // it would look at all of them
    next_look_ = now + std::chrono::seconds(1);
    if (!std::exchange(warned_, true))
      log(LogLevel::Warning, "the checkpoint directory holds more than " +
                                 std::to_string(kMostEntries) +
                                 " entries, some are not looked at: " + directory_);
  } else if (watch_ == nullptr) {
    begin_to_watch();
  }
  return changed_ && !first;
}

void CheckpointFiles::begin_to_watch() {
  try {
    watch_ = LocalStore(directory_).watch();
  } catch (const Error& error) {  // tried again at the next look
    return log(LogLevel::Debug, error.what());
  }
  // What happened before the watch was there it will not tell.
  const bool changed_before = changed_;
  look();
  changed_ |= changed_before;
}

void CheckpointFiles::look() {
  ++looks_;
  entries_ = seen_ = 0;
  changed_ = false;
  path_.clear();
  const int root = ::open(directory_.c_str(), kDirectory);
  if (root >= 0) {
    was_there_ = true;
    look_into(root, 1);
  } else if (was_there_ || errno != ENOENT) {
    throw StoreError(directory_, true,
                     std::string("cannot look for checkpoints: ") + std::strerror(errno));
  }
  // One that comes back has appeared. Where only some are looked at, those unseen may be there.
  const bool all_seen = entries_ <= kMostEntries;
  if (files_.size() > (all_seen ? seen_ : 2 * kMostEntries))
    std::erase_if(files_, [&](const auto& file) { return file.second.look != looks_; });
}

void CheckpointFiles::look_into(int descriptor, int level) {
  const std::unique_ptr<DIR, CloseListing> listing(::fdopendir(descriptor));
  if (listing == nullptr) {
    ::close(descriptor);
    return;
  }
  const std::size_t path_length = path_.size();
  while (const dirent* const entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (++entries_ > kMostEntries) return;
    struct stat facts = {};
    if (::fstatat(descriptor, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(facts.st_mode)) {
      if (level >= kMostLevels) continue;
      const int below = ::openat(descriptor, entry->d_name, kDirectory | O_NOFOLLOW);
      if (below < 0) continue;
      path_.append(name) += '/';
      look_into(below, level + 1);
    } else if (S_ISREG(facts.st_mode) && is_checkpoint_name(name)) {
      path_.append(name);
      take({facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, looks_});
    }
    path_.resize(path_length);
  }
}

void CheckpointFiles::take(const File& file) {
  ++seen_;
  const auto [known, added] = files_.try_emplace(path_, file);
  changed_ |= added || known->second.size != file.size || known->second.seconds != file.seconds ||
              known->second.nanoseconds != file.nanoseconds;
  known->second = file;
}

}  // namespace cupel::writer_detail
