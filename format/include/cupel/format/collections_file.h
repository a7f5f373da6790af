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

/// What a worker says about a run before its first step: who writes, and what is grouped and saved
/// when.
///
/// On disk it is JSON in the schema that readers of the ported SDK's runs know, with more keys in
/// `_meta`, a checksum of the whole file among them.
struct CollectionsFile {
  std::int64_t num_workers = 1;
  std::string run;  ///< Random hexadecimal text, the same in every file of a run.
  std::string worker;
  std::int32_t attempt = 0;  ///< At most INT32_MAX - 1, so that there is a next one.
  Collections collections;
  /// Where the counters stood when the attempt was closed: the number of the last step of each mode
  /// that began, saved or not; Global's is that of all. Empty: the attempt was not closed.
  std::map<Mode, std::int64_t> steps = {};
  /// How many names that joined collections the file leaves out, for want of room: the index has
  /// them.
  std::int64_t joined_left_out = 0;
};

/// Throws UsageError naming the limit for more collections or patterns than a run may have
/// (collection.h), and for content that takes more memory than 7 times the file and 32 MiB. The
/// bytes of the file are the caller's to limit (format_limits.h).
std::vector<std::byte> encode_collections_file(const CollectionsFile& file);

/// Reads such JSON. Throws FormatError naming `key` and the place for anything that is not one,
/// that is above a limit, or that a newer major version wrote. What a newer minor version has added
/// is ignored.
CollectionsFile decode_collections_file(std::string_view key, std::span<const std::byte> bytes);

}  // namespace cupel
