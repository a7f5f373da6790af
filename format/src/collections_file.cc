// Encodes and decodes collections files. Encoding appends text piece by piece (json_text.h). The
// checksum is computed with zeros as its digits, which are filled in at the end. Decoding checks
// the size, parses within the limits of CollectionsBudget and then checks the checksum. Any thread;
// each mistake in a file is a FormatError that names the file.

#include "cupel/format/collections_file.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "collections_budget.h"
#include "collections_parser.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/format/collection_json.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "format_version.h"
#include "json_text.h"

namespace cupel {

using namespace format_detail;

namespace {

constexpr std::string_view kCollections = "collections";
constexpr std::string_view kMeta = "_meta";
constexpr std::string_view kChecksum = "crc32c";
constexpr std::string_view kJoinedLeftOut = "joined_left_out";
constexpr std::string_view kNoChecksum = "00000000";

constexpr int kFirstMinorWithChecksum = 1;

std::string digits_of(std::uint32_t crc) { return hexadecimal_text(crc, kNoChecksum.size()); }

// Checks the file's own checksum, which is that of its bytes with the digits as zeros.
void check(std::string_view text, const std::string& digits) {
  const std::size_t at = text.rfind('"' + digits + '"');
  if (digits.size() != kNoChecksum.size() || at == std::string_view::npos)
    throw UsageError("crc32c is not eight hexadecimal digits");
  const std::string_view before = text.substr(0, at + 1);
  const std::string_view behind = text.substr(at + 1 + digits.size());
  std::uint32_t crc = crc32c(std::as_bytes(std::span(before)));
  crc = crc32c(std::as_bytes(std::span(kNoChecksum)), crc);
  if (digits_of(crc32c(std::as_bytes(std::span(behind)), crc)) != digits)
    throw UsageError("the checksum is wrong");
}

// Files of the first version have no checksum, and neither have files of other programs.
bool must_have_checksum(const std::optional<std::string>& version) {
  return version && is_version_from(*version, kFirstMinorWithChecksum);
}

}  // namespace

std::vector<std::byte> encode_collections_file(const CollectionsFile& file) {
  ObjectText collections;
  for (const auto& [name, of_name] : file.collections) collections.add(name, to_json(of_name));
  ObjectText meta;
  meta.add("num_workers", text_of(file.num_workers))
      .add("format", quoted_text(kFormatVersion))
      .add("run", quoted_text(file.run))
      .add("worker", quoted_text(file.worker))
      .add("attempt", text_of(std::int64_t{file.attempt}));
  if (!file.steps.empty()) {
    ObjectText steps;
    for (const auto& [mode, step] : file.steps) steps.add(to_string(mode), text_of(step));
    meta.add("steps", steps.text());
  }
  if (file.joined_left_out > 0) meta.add(kJoinedLeftOut, text_of(file.joined_left_out));
  meta.add(kChecksum, quoted_text(kNoChecksum));
  std::string text =
      ObjectText().add(kCollections, collections.text()).add(kMeta, meta.text()).text() + '\n';
  CollectionsBudget(text.size()).add(file.collections);
  text.replace(text.rfind(kNoChecksum), kNoChecksum.size(),
               digits_of(crc32c(std::as_bytes(std::span(text)))));
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

CollectionsFile decode_collections_file(std::string_view key, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    if (const std::uint64_t most = format_limits().collections_file; text.size() > most)
      throw UsageError("it has more than " + std::to_string(most) + " bytes");
    ParsedCollections parsed = parse_collections(key, text);
    if (parsed.checksum) {
      check(text, *parsed.checksum);
    } else if (must_have_checksum(parsed.version)) {
      throw UsageError("its checksum is missing");
    }
    return std::move(parsed.file);
  } catch (const UsageError& error) {
    throw FormatError(std::string(key), 0, error.what());
  }
}

}  // namespace cupel
