#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/delivery/worker_lock.h"
#include "cupel/store/local_store.h"

namespace cupel {

/// The local directory that holds the files of one worker until they are uploaded to a remote
/// store.
///
/// A spool is an ordinary run directory with one more file, spool.json, which names the remote
/// store and the worker. Uploaded files are removed from it. Its user holds the worker's lock for
/// as long as this object lives.
class Spool {
 public:
  /// Where the files of a spool are uploaded to.
  struct Destination {
    std::string url;     ///< Store::location() of the remote store.
    std::string worker;  ///< The worker that wrote the files.
    friend bool operator==(const Destination&, const Destination&) = default;
  };

  /// Returns `<base>/<hash of the URL>/<worker>`, absolute. An empty `base` means CUPEL_SPOOL_DIR,
  /// else cupel/spool in XDG_STATE_HOME, else ~/.local/state/cupel/spool. Throws UsageError where
  /// none of them is set.
  static std::string directory_of(const std::string& base, const Destination& destination);

  /// Returns the destination of a directory; nothing if the directory is no spool. Throws
  /// FormatError for a damaged spool.json.
  static std::optional<Destination> destination_of(const std::string& directory);

  /// Returns the spools in a directory, sorted: the directory itself, or the directories that
  /// directory_of() makes below it. Contains spools with a damaged spool.json, and directories with
  /// the name of a worker that cannot be read. Throws StoreError if `directory` itself cannot be
  /// read.
  static std::vector<std::string> find(const std::string& directory);

  /// Locks the directory, and makes it if it is missing. Throws UsageError while another process or
  /// object uses it, or if it is the spool of another destination.
  Spool(const std::string& directory, Destination destination);
  ~Spool();
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) = delete;

  LocalStore& run() noexcept { return *run_; }
  const LocalStore& run() const noexcept { return *run_; }
  /// Returns run() for a user that may outlive the spool.
  std::shared_ptr<LocalStore> shared_run() const noexcept { return run_; }
  std::string directory() const { return run_->location(); }
  const Destination& destination() const noexcept { return destination_; }

  /// Moves all files of the spool to a new directory beside it and returns that directory, which
  /// has `what` in its name and is no spool. The spool is empty then.
  std::string set_aside(std::string_view what);

  /// Whether the spool holds no file of the worker's run.
  bool is_empty() const;
  /// Returns the files that belong neither to the worker's run nor to the spool itself, sorted.
  std::vector<std::string> foreign_files() const;
  /// Removes the files of the worker's run, and the empty folders of a run. All else stays.
  void clear() noexcept;
  /// Does the same. Then removes the directory, and the directory above it that directory_of() has
  /// made, if they are empty; but no directory that is `stays`, and no directory with foreign
  /// files, which remains a spool. Gives the lock up: afterwards nothing but foreign_files() may be
  /// called.
  void remove(const std::string& stays = {}) noexcept;

 private:
  struct Content {
    std::vector<std::string> of_run, foreign, folders;
  };
  void begin();
  bool is_of_run(std::string_view key) const;
  bool is_torn_put(std::string_view key) const;
  Content content() const;

  Destination destination_;
  std::shared_ptr<LocalStore> run_;
  std::unique_ptr<WorkerLock> lock_;
};

}  // namespace cupel
