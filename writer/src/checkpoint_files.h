#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cupel/store/store.h"

namespace cupel::writer_detail {

// Knows the checkpoint files of a directory and those below it, and sees when training writes some.
//
// Symbolic links are not followed, except that the directory itself may be one. Sizes are compared
// and times of writing, too: a checkpoint that takes the place of an older one has its size more
// often than not. Files whose names are metadata.json, end in ".tmp" or contain
// "sagemaker-uploaded" are not checkpoints.
//
// Where the system notifies of changes the directory is looked through only after one; where it
// does not (a network's file system), every time.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::string directory) : directory_(std::move(directory)) {}

  // Whether a file has appeared or was written since the last call; the first call only takes
  // stock. Of a directory with too many entries the first are looked at, once a second. An absent
  // directory holds no files; one that was there and cannot be read is StoreError, and what was
  // known stays known.
  bool changed();

 private:
  static constexpr std::size_t kMostEntries = 10'000;
  static constexpr int kMostLevels = 16;

  struct File {
    std::int64_t size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    std::uint64_t look = 0;  // that saw it last
  };
  using Clock = std::chrono::steady_clock;
  void look();
  void begin_to_watch();
  // Takes the descriptor; path_ is the directory's, with a slash.
  void look_into(int descriptor, int level);
  void take(const File& file);

  const std::string directory_;
  std::unordered_map<std::string, File> files_;  // by path below the directory
  std::string path_;                             // while looking
  std::uint64_t looks_ = 0;
  std::size_t entries_ = 0;        // in this look
  std::size_t seen_ = 0;           // of the files, in this look
  bool changed_ = false;           // in this look
  std::unique_ptr<Watch> watch_;   // null: none yet, or not to be had
  Clock::time_point next_look_{};  // of a directory that is not watched
  bool was_there_ = false;
  bool warned_ = false;
};

}  // namespace cupel::writer_detail
