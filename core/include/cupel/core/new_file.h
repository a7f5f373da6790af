#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cupel {

// The only ways in which cupel makes files and folders; tests/structure looks for others.
//
// `directory` is an open folder, or AT_FDCWD, to which a relative name belongs. All files are
// close-on-exec. A failure is -1 or false, and errno.

/// Who may use a file or folder that is made. What is there already keeps its mode.
enum class FileAccess {
  Umask,    ///< 0666 and 0777 less the umask.
  Private,  ///< 0600 and 0700 less the umask: nobody but the owner.
};

/// Makes a file and opens it for writing. EEXIST where the name is taken, also by a link.
int create_file(int directory, const char* name, FileAccess access) noexcept;

/// Opens a file, or makes it. `flags` are those of open(2), O_NOFOLLOW among them unless the user
/// gave the name.
int open_or_create_file(int directory, const char* name, int flags, FileAccess access) noexcept;

/// Makes one folder. EEXIST where the name is taken.
bool make_directory(int directory, const char* name, FileAccess access) noexcept;

/// Makes a folder and those above it that are missing. `on_made` gets the path of each folder that
/// this call has made, the uppermost first; if `on_made` returns false, the call fails.
bool make_directories(const std::string& path, FileAccess access,
                      bool (*on_made)(const std::string& path) = nullptr);

/// Keeps the signal SIGXFSZ away from this thread while it lives, and removes one that a write has
/// caused: at a limit on the size of files (`ulimit -f`) a write fails with EFBIG, and the process
/// goes on. Costs one call of the system where there is no such limit.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() noexcept;
  ~NoFileSizeSignal();  ///< Keeps errno.
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  bool is_blocked_ = false;  // by this object
  bool was_pending_ = false;
  sigset_t before_{};
};

/// Writes all bytes.
bool write_all(int file, std::span<const std::byte> bytes) noexcept;

/// A new file beside another one whose place it takes by a rename. The name,
/// "<name>.<host>-<process>.<number>.tmp", is that of no other file: not even after a fork, on
/// another host, or behind a killed process. The destructor removes a file that was not renamed.
class TemporaryFile {
 public:
  /// `directory` must stay open. Where no file can be made, descriptor() is -1, and errno is set.
  TemporaryFile(int directory, std::string_view name, FileAccess access);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  const std::string& name() const noexcept { return name_; }
  /// Some file systems report a failed write only here.
  bool close() noexcept;
  bool rename_to(const std::string& name) noexcept;

 private:
  int directory_;
  std::string name_;
  int descriptor_ = -1;
  bool is_there_ = false;  // under its temporary name
};

}  // namespace cupel
