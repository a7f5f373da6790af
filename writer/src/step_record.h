#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "cupel/core/dtype.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/core/value_counts.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"
#include "measuring.h"
#include "tensor_table.h"

namespace cupel::writer_detail {

struct Chunk;

// One save of one tensor. The training thread fills in what it knows; who measures it, the rest.
struct Record {
  const NamedTensor* tensor = nullptr;
  DType dtype = DType::F32;
  bool with_shape = false;
  Shape shape;
  std::int64_t elements = 0;

  ReductionSet wanted;  // of a raw value: still to be computed
  std::optional<ValueCounts> counts;
  ReductionValues reductions;

  // A raw value is inline, in a chunk until its batch is written, or streamed.
  std::optional<std::uint8_t> inline_length;
  std::array<std::byte, kMaxInlineBytes> inline_bytes{};
  Chunk* chunk = nullptr;
  const std::byte* bytes = nullptr;
  std::optional<ValueLocation> location;  // the length is known from the start

  // The value's bytes where they are now; not of a streamed one.
  std::span<const std::byte> value() const noexcept {
    if (inline_length) return {inline_bytes.data(), *inline_length};
    return {bytes, static_cast<std::size_t>(location->length)};
  }
};

// What has become of a step that was handed over to the background writer.
enum class StepEnd : std::uint8_t {
  Unknown,    // it is under way, or an error has ended writing
  Committed,  // it is in the index file
  Lost,       // the disk had no room for it
  Refused,    // its index rows are larger than readers take
};

// Written once by the background writer, and read by the thread that begins steps.
struct StepOutcome {
  explicit StepOutcome(std::int64_t number) : step(number) {}
  const std::int64_t step;
  std::uint64_t bytes = 0;  // of the index rows of a refused step; before `end`
  std::atomic<StepEnd> end{StepEnd::Unknown};
};

// A step that is being saved: what goes into its index batch.
struct Step {
  explicit Step(const StepHeader& step_header, ChunkPool& pool)
      : header(step_header),
        measuring(pool),
        outcome(std::make_shared<StepOutcome>(step_header.step)) {}
  StepHeader header;
  std::deque<Record> records;
  Measuring measuring;
  bool dropped = false;  // is not to be committed
  const std::shared_ptr<StepOutcome> outcome;
};

}  // namespace cupel::writer_detail
