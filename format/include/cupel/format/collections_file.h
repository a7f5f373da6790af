#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"

namespace cupel {

/// The file that a worker writes before its first step: the worker, and which tensors are grouped
/// and saved when.
///
/// On disk it is JSON in the schema that readers of the ported SDK's runs know, with more keys in
/// `_meta`, a checksum of the whole file among them.
struct CollectionsFile {
  std::int64_t num_workers = 1;
  std::string run;  ///< Random hexadecimal text, the same in every file of a run.
  std::string worker;
  std::int32_t attempt = 0;  ///< At most INT32_MAX - 1, so that there is a next one.
  Collections collections;
  /// The number of the last step of each mode that had begun when the attempt was closed, saved or
  /// not; Global's is that of all modes. Empty: the attempt was not closed.
  std::map<Mode, std::int64_t> steps = {};
  /// The number of names that joined collections and had no room in the file. The index has
  /// them.
  std::int64_t joined_left_out = 0;
};

/// Encodes the file. Throws UsageError naming the limit for more collections or patterns than a run
/// may have (collection.h), and for content that takes more memory than 7 times the file and
/// 32 MiB. The caller limits the bytes of the file (format_limits.h).
std::vector<std::byte> encode_collections_file(const CollectionsFile& file);

/// Reads such a file. Throws FormatError naming `key` and the place for other bytes, for a file
/// above a limit, and for one that a newer major version wrote. Keys that a newer minor version
/// added are ignored.
CollectionsFile decode_collections_file(std::string_view key, std::span<const std::byte> bytes);

}  // namespace cupel
