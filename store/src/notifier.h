#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "descriptor.h"

namespace cupel::internal {

/// The kernel's notifications (inotify) about what happens below a prefix of a directory.
///
/// Besides the tree below the prefix's directory it watches the directories that lead there, from
/// the root's parent on, so that it hears when the tree appears, is moved away or deleted.
class Notifier {
 public:
  /// Null when notifications cannot be had: limits are reached, or the file system is a remote one,
  /// whose other writers the kernel does not see.
  static std::unique_ptr<Notifier> create(const std::string& root, std::string_view prefix);

  enum class News {
    None,
    Change,  ///< Something below the prefix may have changed.
    Lost     ///< So it may, and this notifier no longer hears everything: make another.
  };
  /// Takes what has been notified so far.
  News take();

  /// Readable when there is something to take.
  int descriptor() const noexcept { return inotify_.get(); }

 private:
  struct Place {
    std::string path;
    bool top;  // the prefix's directory itself
  };
  enum class Added { Yes, Unreadable, Absent, Failed };

  Notifier(Descriptor inotify, std::string root, std::string name_prefix)
      : inotify_(std::move(inotify)),
        root_(std::move(root)),
        name_prefix_(std::move(name_prefix)) {}
  bool follow(std::string_view directory);
  Added add(const std::string& path, std::uint32_t mask, int& watch);
  Added add_link(const std::string& path, const std::string& next);
  Added add_tree(const std::string& path, bool top);

  struct Event;
  News judge(const Event& event);
  News judge_in_tree(const Event& event, const Place& place);

  Descriptor inotify_;
  std::string root_;
  std::string name_prefix_;           // what names in the top directory begin with
  std::map<int, std::string> links_;  // by watch: the one name that matters there
  std::map<int, Place> tree_;         // by watch
};

}  // namespace cupel::internal
