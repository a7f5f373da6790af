#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "cupel/core/dtype.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/core/value_counts.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"
#include "tensor_table.h"

namespace cupel {

// One save of one tensor. The training thread fills in what it knows; the background writer the
// rest.
struct Record {
  const NamedTensor* tensor = nullptr;
  DType dtype = DType::F32;
  bool with_shape = false;
  Shape shape;
  std::int64_t elements = 0;

  ReductionSet wanted;  // of a raw value: still to be computed by the background writer
  std::optional<ValueCounts> counts;
  ReductionValues reductions;

  // A raw value is inline, in a chunk until its batch is written, or streamed.
  std::optional<std::uint8_t> inline_length;
  std::array<std::byte, kMaxInlineBytes> inline_bytes{};
  const std::byte* bytes = nullptr;
  std::optional<ValueLocation> location;  // the length is known from the start

  std::span<const std::byte> inline_value() const noexcept {
    return {inline_bytes.data(), *inline_length};
  }
};

// A step that is being saved: what goes into its index batch.
struct Step {
  StepHeader header;
  std::deque<Record> records;
};

}  // namespace cupel
