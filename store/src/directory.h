#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/new_file.h"
#include "cupel/store/store.h"
#include "descriptor.h"

namespace cupel::store_detail {

/// A key cut at its last '/': "a/b/c" is "a/b" and "c".
struct KeyParts {
  std::string_view directory;
  std::string name;
};
KeyParts split_key(std::string_view key);

/// Whether missing directories are made, and whether their names are made durable at once.
enum class Missing { Fail, Make, MakeDurable };

/// Fsyncs the directory that `path` is in; on failure false and errno. For make_directories().
bool sync_above(const std::string& path);

/// Opens `directory`, a key's directory part, below `root`; no link below the root is followed. On
/// failure an empty descriptor and errno.
Descriptor open_directory(const std::string& root, std::string_view directory,
                          Missing missing = Missing::Fail, FileAccess access = FileAccess::Umask);

/// Fsyncs the root and every directory from there to `directory`; on failure false and errno.
bool sync_directories(const std::string& root, std::string_view directory);

/// Returns the facts about an object; nothing, and errno, if `name` is absent or no regular file.
std::optional<ObjectInfo> look_at(const Descriptor& directory, const char* name,
                                  std::string_view key);

/// Waits until a new file has a later time of birth than the file `name`, 20 ms at most: the clock
/// of the file system moves in ticks of some milliseconds.
void await_later_birth(const Descriptor& directory, const char* name);

/// Store::list in a directory.
std::vector<ObjectInfo> list_objects(const std::string& root, std::string_view prefix,
                                     std::string_view after);

/// Whether a name in a directory is that of a file that is being written.
inline bool is_temporary(std::string_view name) noexcept { return name.ends_with(".tmp"); }

}  // namespace cupel::store_detail
