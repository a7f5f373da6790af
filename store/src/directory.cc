// Directories of a LocalStore: opening, making, listing, and the facts about one file.
//
// Every path is walked part by part with openat() and O_NOFOLLOW, so no link below the root is
// followed, also none that is planted meanwhile. A listing skips whole directories that cannot have
// a wanted key. Functions return an empty result and errno, or throw the StoreError with the root
// as location. A file or directory that disappears during a listing is left out. The functions have
// no state and may run on any thread.

#include "directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>

namespace cupel::store_detail {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY;

// A file system that cannot flush directories answers EINVAL: there is nothing to do then.
bool sync(const Descriptor& directory) noexcept {
  return uninterrupted([&] { return ::fsync(directory.get()); }) == 0 || errno == EINVAL;
}

/// Calls `step(directory, name)` for each part of a path, with the directory of the part. `step`
/// returns the directory for the next part.
template <class Step>
Descriptor descend(Descriptor directory, std::string_view path, const Step& step) {
  while (directory && !path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string name(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    directory = step(directory, name.c_str());
  }
  return directory;
}

Descriptor open_below(const Descriptor& directory, const char* name) noexcept {
  return open_at(directory, name, kDirectory | O_NOFOLLOW);
}

struct CloseListing {
  void operator()(DIR* listing) const noexcept { ::closedir(listing); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

/// Lists the objects below one prefix, and skips directories that cannot have any.
class Lister {
 public:
  Lister(const std::string& root, std::string_view prefix, std::string_view after)
      : root_(root), prefix_(prefix), after_(after) {}

  /// Lists a directory. The keys of its objects begin with `above`, "" or "a/b/".
  void list(Descriptor directory, const std::string& above) {
    const int number = directory.get();
    const Listing listing(::fdopendir(number));
    if (!listing) fail(root_, above, "list the directory", errno);
    static_cast<void>(directory.release());  // the listing closes it
    const Borrowed borrowed(number);
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(listing.get());
      if (entry == nullptr) break;
      visit(borrowed.descriptor, *entry, above + entry->d_name);
    }
    // A directory that is removed while it is read may end in ENOENT.
    if (errno != 0 && !means_absent(errno)) fail(root_, above, "list the directory", errno);
  }

  std::vector<ObjectInfo> sorted() && {
    std::ranges::sort(found_, {}, &ObjectInfo::key);
    return std::move(found_);
  }

 private:
  struct Borrowed {
    explicit Borrowed(int number) : descriptor(number) {}
    ~Borrowed() { static_cast<void>(descriptor.release()); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Descriptor descriptor;
  };

  bool may_hold(const std::string& directory) const noexcept {
    return directory.starts_with(prefix_) && (directory > after_ || after_.starts_with(directory));
  }

  void visit(const Descriptor& directory, const dirent& entry, const std::string& key) {
    if (entry.d_type == DT_DIR || entry.d_type == DT_UNKNOWN) {
      if (key_defect(key + "/x") == nullptr && may_hold(key + "/"))
        descend_into(directory, entry, key);
      if (entry.d_type == DT_DIR) return;
    }
    if (entry.d_type != DT_REG && entry.d_type != DT_UNKNOWN) return;
    if (!key.starts_with(prefix_) || key <= after_ || key_defect(key) != nullptr) return;
    auto info = look_at(directory, entry.d_name, key);
    if (info)
      found_.push_back(*std::move(info));
    else if (!means_absent(errno))
      fail(root_, key, "examine the file", errno);
  }

  void descend_into(const Descriptor& directory, const dirent& entry, const std::string& key) {
    Descriptor below = open_below(directory, entry.d_name);
    if (below)
      list(std::move(below), key + "/");
    else if (!means_absent(errno))
      fail(root_, key, "open the directory", errno);
  }

  const std::string& root_;
  std::string_view prefix_;
  std::string_view after_;
  std::vector<ObjectInfo> found_;
};

}  // namespace

bool sync_above(const std::string& path) {
  // A path may end with slashes.
  const std::size_t last = path.find_last_not_of('/');
  const std::size_t slash = last == std::string::npos ? 0 : path.rfind('/', last) + 1;
  const std::string parent = slash == 0 ? "." : path.substr(0, slash);
  const Descriptor above = open_path(parent.c_str(), kDirectory);
  return above && sync(above);
}

KeyParts split_key(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) return {{}, std::string(key)};
  return {key.substr(0, slash), std::string(key.substr(slash + 1))};
}

Descriptor open_directory(const std::string& root, std::string_view directory, Missing missing,
                          FileAccess access) {
  Descriptor top = open_path(root.c_str(), kDirectory);
  if (missing == Missing::Fail) return descend(std::move(top), directory, open_below);
  if (!top && errno == ENOENT &&
      make_directories(root, access, missing == Missing::MakeDurable ? sync_above : nullptr))
    top = open_path(root.c_str(), kDirectory);
  return descend(std::move(top), directory, [&](const Descriptor& above, const char* name) {
    Descriptor below = open_below(above, name);
    if (below || errno != ENOENT) return below;
    if (!make_directory(above.get(), name, access)) {
      if (errno != EEXIST) return Descriptor();
    } else if (missing == Missing::MakeDurable && !sync(above)) {
      return Descriptor();
    }
    return open_below(above, name);
  });
}

bool sync_directories(const std::string& root, std::string_view directory) {
  const Descriptor last = descend(open_path(root.c_str(), kDirectory), directory,
                                  [](const Descriptor& above, const char* name) {
                                    return sync(above) ? open_below(above, name) : Descriptor();
                                  });
  return last && sync(last);
}

std::optional<ObjectInfo> look_at(const Descriptor& directory, const char* name,
                                  std::string_view key) {
  struct statx facts = {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_SIZE | STATX_INO | STATX_BTIME;
  if (::statx(directory.get(), name, AT_SYMLINK_NOFOLLOW, kWanted, &facts) != 0)
    return std::nullopt;
  if (!S_ISREG(facts.stx_mode)) {
    errno = ENOENT;
    return std::nullopt;
  }
  // The time of birth distinguishes a file from a later one with the same inode number; put() waits
  // until it differs. Appending changes the other times, so they cannot identify a file.
  const bool has_birth = (facts.stx_mask & STATX_BTIME) != 0;
  std::array<char, 96> identity{};
  std::snprintf(identity.data(), identity.size(), "%x:%x:%llx:%llx.%x", facts.stx_dev_major,
                facts.stx_dev_minor, static_cast<unsigned long long>(facts.stx_ino),
                static_cast<unsigned long long>(has_birth ? facts.stx_btime.tv_sec : 0),
                has_birth ? facts.stx_btime.tv_nsec : 0U);
  return ObjectInfo{std::string(key), facts.stx_size, identity.data()};
}

void await_later_birth(const Descriptor& directory, const char* name) {
  struct statx facts = {};
  if (::statx(directory.get(), name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &facts) != 0) return;
  if ((facts.stx_mask & STATX_BTIME) == 0) return;
  const auto birth =
      std::pair(std::int64_t{facts.stx_btime.tv_sec}, std::int64_t{facts.stx_btime.tv_nsec});
  constexpr int kMostTries = 20;  // the clock may have been set back
  for (int i = 0; i < kMostTries; ++i) {
    timespec tick = {};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &tick);
    if (std::pair(std::int64_t{tick.tv_sec}, std::int64_t{tick.tv_nsec}) > birth) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<ObjectInfo> list_objects(const std::string& root, std::string_view prefix,
                                     std::string_view after) {
  const std::size_t slash = prefix.rfind('/');
  const std::string_view directory =
      slash == std::string_view::npos ? std::string_view() : prefix.substr(0, slash);
  Descriptor start = open_directory(root, directory);
  if (!start) {
    if (means_absent(errno)) return {};
    fail(root, prefix, "open the directory", errno);
  }
  Lister lister(root, prefix, after);
  lister.list(std::move(start), directory.empty() ? "" : std::string(directory) + "/");
  return std::move(lister).sorted();
}

}  // namespace cupel::store_detail
