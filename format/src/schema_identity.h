#pragma once

#include <arrow/type_fwd.h>

#include <string>

#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"

namespace cupel {

/// What the metadata of a schema say the file `key` is. Throws FormatError where they are missing,
/// where a newer major version wrote them, and where worker or attempt differ from `name`.
SegmentIdentity schema_identity(const arrow::Schema& schema, const std::string& key,
                                const SegmentName& name);

}  // namespace cupel
