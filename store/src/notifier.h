#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "descriptor.h"

namespace cupel::store_detail {

/// The kernel's notifications (inotify) about what happens below a prefix of a directory.
///
/// Beside the tree below the prefix's directory it watches the directories that lead there, from
/// the root's parent on, so that it is notified when the tree appears, is moved or is deleted.
class Notifier {
 public:
  /// Returns null where there are no notifications: a limit of the kernel is reached, or the file
  /// system is a remote one, whose other writers the kernel does not see.
  static std::unique_ptr<Notifier> create(const std::string& root, std::string_view prefix);

  enum class News {
    None,
    Change,  ///< Something below the prefix may have changed.
    Lost     ///< The same, and this notifier may miss further changes: make another.
  };
  /// Takes the notifications that have come.
  News take();

  /// A descriptor that is readable when there are notifications.
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

}  // namespace cupel::store_detail
