// Notifier adds a watch of the kernel to each directory of a tree and to the directories above it.
//
// A watch is added before the directory is listed, and from the top down: a change before the
// listing is in it, and a change after it is notified. When a directory above the tree changes, the
// result is News::Lost, and the caller makes a new notifier. The same holds where the kernel's
// queue overflows or a limit is reached. One thread uses a notifier. It throws nothing of its own:
// without notifications create() returns null, and the caller compares listings.

#include "notifier.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "directory.h"

namespace cupel::store_detail {
namespace {

constexpr std::uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kSelf = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kGone = kSelf | IN_UNMOUNT | IN_IGNORED;
constexpr std::size_t kLongestPath = 4096;

bool is_remote(const char* path) noexcept {
  constexpr std::array<std::uint32_t, 9> kRemote = {
      0x6969,      // NFS
      0x517b,      // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB2
      0x65735546,  // FUSE, virtiofs
      0x01021997,  // 9P
      0x00c36400,  // Ceph
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
  };
  struct statfs facts = {};
  if (::statfs(path, &facts) != 0) return false;
  return std::ranges::find(kRemote, static_cast<std::uint32_t>(facts.f_type)) != kRemote.end();
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* const listing = ::opendir(path.c_str());
  if (listing == nullptr) return names;
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    const bool may_be = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (may_be && name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(listing);
  return names;
}

std::string joined(const std::string& directory, std::string_view name) {
  return (directory == "/" ? "" : directory) + "/" + std::string(name);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

struct Notifier::Event {
  int watch;
  std::uint32_t mask;
  std::string_view name;
  bool has(std::uint32_t bits) const noexcept { return (mask & bits) != 0; }
};

std::unique_ptr<Notifier> Notifier::create(const std::string& root, std::string_view prefix) {
  Descriptor inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify) return nullptr;
  const auto [directory, name_prefix] = split_key(prefix);
  std::unique_ptr<Notifier> made(new Notifier(std::move(inotify), root, name_prefix));
  return made->follow(directory) ? std::move(made) : nullptr;
}

bool Notifier::follow(std::string_view directory) {
  const std::string target = directory.empty() ? root_ : joined(root_, directory);
  std::string here = parent_of(root_);
  while (here != "/" && ::access(here.c_str(), F_OK) != 0) here = parent_of(here);
  std::string deepest = here;
  Added above = Added::Absent;
  while (here != target) {
    const std::size_t begin = here == "/" ? 1 : here.size() + 1;
    const std::size_t end = std::min(target.find('/', begin), target.size());
    const std::string next = target.substr(begin, end - begin);
    const Added added = add_link(here, next);
    if (added == Added::Failed) return false;
    // The directory above notifies when this one appears, or one that can be watched replaces it.
    if (added == Added::Absent) return above == Added::Yes && !is_remote(deepest.c_str());
    above = added;
    deepest = here;
    here = joined(here, next);
  }
  const Added added = add_tree(target, true);
  if (added == Added::Yes) return !is_remote(target.c_str());
  return added == Added::Absent && above == Added::Yes && !is_remote(deepest.c_str());
}

/// Watches a directory; a link is only followed where it is, or leads to, the root.
Notifier::Added Notifier::add(const std::string& path, std::uint32_t mask, int& watch) {
  mask |= kNames | kSelf | IN_ONLYDIR;
  if (path.size() > root_.size()) mask |= IN_DONT_FOLLOW;
  watch = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
  if (watch >= 0) return Added::Yes;
  if (errno == EACCES) return Added::Unreadable;
  return means_absent(errno) ? Added::Absent : Added::Failed;
}

Notifier::Added Notifier::add_link(const std::string& path, const std::string& next) {
  int watch = -1;
  const Added added = add(path, 0, watch);
  if (added == Added::Yes) links_[watch] = next;
  return added;
}

Notifier::Added Notifier::add_tree(const std::string& path, bool top) {
  int watch = -1;
  const Added added = add(path, IN_MODIFY | IN_EXCL_UNLINK, watch);
  if (added != Added::Yes) return added;
  tree_[watch] = {path, top};
  for (const std::string& name : directories_in(path)) {
    if (top && !name.starts_with(name_prefix_)) continue;
    const std::string below = joined(path, name);
    if (below.size() < kLongestPath && add_tree(below, false) == Added::Failed)
      return Added::Failed;
  }
  return Added::Yes;
}

Notifier::News Notifier::take() {
  News news = News::None;
  alignas(inotify_event) std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t got =
        uninterrupted([&] { return ::read(inotify_.get(), buffer.data(), buffer.size()); });
    if (got < 0) return errno == EAGAIN ? news : News::Lost;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event head = {};
      std::memcpy(&head, buffer.data() + at, sizeof head);
      const char* const name = buffer.data() + at + sizeof head;
      const std::size_t length = ::strnlen(name, head.len);
      news = std::max(news, judge({head.wd, head.mask, {name, length}}));
      at += sizeof head + head.len;
    }
  }
}

Notifier::News Notifier::judge(const Event& event) {
  if (event.has(IN_Q_OVERFLOW)) return News::Lost;
  if (const auto link = links_.find(event.watch); link != links_.end())
    return event.has(kGone) || event.name == link->second ? News::Lost : News::None;
  const auto place = tree_.find(event.watch);
  if (place == tree_.end()) return News::None;
  const Place found = place->second;
  if (event.has(IN_IGNORED)) tree_.erase(place);
  return judge_in_tree(event, found);
}

Notifier::News Notifier::judge_in_tree(const Event& event, const Place& place) {
  if (event.has(kGone)) return place.top ? News::Lost : News::Change;
  if (place.top && !event.name.starts_with(name_prefix_)) return News::None;
  if (!event.has(IN_ISDIR)) return is_temporary(event.name) ? News::None : News::Change;
  if (event.has(IN_MOVED_FROM)) return News::Lost;  // the watches below moved with it
  if (!event.has(IN_CREATE | IN_MOVED_TO)) return News::Change;
  const Added added = add_tree(joined(place.path, event.name), false);
  return added == Added::Failed ? News::Lost : News::Change;
}

}  // namespace cupel::store_detail
