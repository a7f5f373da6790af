#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/store/local_store.h"

namespace cupel {

/// The directory where what one worker writes waits to be uploaded to a store that cannot append.
///
/// It is an ordinary run directory; a file spool.json in it says where it goes. What was uploaded
/// is removed from it. It is locked, as every run is while a worker writes it, as long as this
/// object lives.
class Spool {
 public:
  /// Whose spool it is.
  struct Destination {
    std::string url;  ///< Store::location() of the store that is uploaded to.
    std::string worker;
    friend bool operator==(const Destination&, const Destination&) = default;
  };

  /// `<base>/<hash of the URL>/<worker>`, absolute. An empty `base` is CUPEL_SPOOL_DIR, else
  /// cupel/spool in XDG_STATE_HOME, else ~/.local/state/cupel/spool; UsageError without any of
  /// them.
  static std::string directory_of(const std::string& base, const Destination& destination);

  /// Whose spool a directory is; nothing if it is none. Throws FormatError for a damaged
  /// spool.json.
  static std::optional<Destination> destination_of(const std::string& directory);

  /// The spools in a directory: itself, or what directory_of() puts below it. Also those whose
  /// spool.json is damaged, and folders of which nobody can tell because they cannot be read.
  /// Sorted. Throws StoreError if the directory itself cannot be read.
  static std::vector<std::string> find(const std::string& directory);

  /// Locks the directory, which is made if it is not there. Throws UsageError while another process
  /// or object uses it, or if it is the spool of another destination.
  Spool(const std::string& directory, Destination destination);
  ~Spool();
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) = delete;

  LocalStore& run() noexcept { return *run_; }
  const LocalStore& run() const noexcept { return *run_; }
  /// For those who may outlive the spool.
  std::shared_ptr<LocalStore> shared_run() const noexcept { return run_; }
  std::string directory() const { return run_->location(); }
  const Destination& destination() const noexcept { return destination_; }

  /// Moves all that is in it to a directory beside it, which is named after what it is and is no
  /// spool any more; returns where. The spool is empty then.
  std::string set_aside(std::string_view what);

  /// Whether it holds no file of the worker's run.
  bool is_empty() const;
  /// What lies in it and is neither the worker's run nor the spool's own. Sorted.
  std::vector<std::string> foreign_files() const;
  /// Removes the files of the worker's run, and folders of a run that are empty. All else stays.
  void clear() noexcept;
  /// Does the same, and removes the directory, and the one that directory_of() has put it in, if
  /// they are empty then and not `stays`; one with foreign files stays a spool. Gives the lock up:
  /// nothing may be called afterwards.
  void remove(const std::string& stays = {}) noexcept;

 private:
  // The files and folders in it.
  struct Content {
    std::vector<std::string> of_run, foreign, folders;
  };
  void begin();
  bool is_of_run(std::string_view key) const;
  bool is_torn_put(std::string_view key) const;
  Content content() const;

  Destination destination_;
  std::shared_ptr<LocalStore> run_;
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace cupel
