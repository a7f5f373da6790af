#include "schema_identity.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <optional>
#include <string_view>

#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "format_version.h"

namespace cupel::format_detail {

SegmentIdentity schema_identity(const arrow::Schema& schema, const std::string& key,
                                const SegmentName& name) {
  const auto fail = [&](const std::string& what) { throw FormatError(key, 0, what); };
  const auto metadata = schema.metadata();
  const auto text = [&](const char* field) {
    const int at = metadata ? metadata->FindKey(field) : -1;
    if (at < 0) fail(std::string("the schema's metadata lack ") + field);
    return metadata->value(at);
  };
  SegmentIdentity found;
  found.format = text("cupel.format");
  if (const auto problem = format_version_problem(found.format)) fail(*problem);
  found.run = text("cupel.run");
  found.worker = text("cupel.worker");
  const auto attempt = parse_integer<std::int32_t>(text("cupel.attempt"));
  const auto segment = parse_integer<std::int64_t>(text("cupel.segment"));
  if (!attempt || !segment || *segment < 0)
    fail("the schema's metadata name no attempt or segment");
  found.attempt = *attempt;
  found.segment = *segment;
  if (found.worker != name.worker)
    fail("the file says worker " + found.worker + ", its name says otherwise");
  if (found.attempt != name.attempt)
    fail("the file says attempt " + std::to_string(found.attempt) + ", its name says otherwise");
  return found;
}

std::optional<std::uint32_t> collections_checksum(const arrow::Schema& schema,
                                                  const std::string& key) {
  const auto metadata = schema.metadata();
  const int at = metadata ? metadata->FindKey(kCollectionsChecksumKey) : -1;
  if (at < 0) return std::nullopt;
  const auto checksum = parse_integer<std::uint32_t>(metadata->value(at));
  if (!checksum)
    throw FormatError(key, 0, "the schema's metadata name no checksum of the collections file");
  return checksum;
}

}  // namespace cupel::format_detail
