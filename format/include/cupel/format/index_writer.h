#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/core/value_counts.h"
#include "cupel/format/layout.h"

namespace cupel {

/// The run, worker, attempt and segment that a file belongs to. It is written into the file and
/// checked against the file's name.
struct SegmentIdentity {
  std::string run;
  std::string worker;
  std::int32_t attempt = 0;
  std::int64_t segment = 0;  ///< Counts the segments of the attempt from 0, without gaps.
  std::string format = std::string(kFormatVersion);  ///< Of its writer.
};

/// The place of a raw value's bytes in the segment's events file, and their CRC-32C.
struct ValueLocation {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc32c = 0;
  friend bool operator==(const ValueLocation&, const ValueLocation&) = default;
};

/// The values that all rows of a step share.
struct StepHeader {
  std::int64_t step = 0;
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  std::int64_t time_us = 0;  ///< Microseconds since 1970, UTC.
  friend bool operator==(const StepHeader&, const StepHeader&) = default;
};

/// One tensor of one step, to be written. A member that is not set becomes null. The pointers are
/// borrowed for the call.
struct IndexRow {
  std::string_view tensor;
  DType dtype = DType::F32;
  std::int64_t elements = 0;
  const Shape* shape = nullptr;
  std::optional<ValueLocation> location;                   ///< At most one of location
  std::optional<std::span<const std::byte>> inline_value;  ///< and inline_value.
  std::optional<ValueCounts> counts;
  ReductionValues reductions;  ///< Reductions without a column in the segment are left out.
  /// The collections that the tensor joined and that no earlier row of the file names with it.
  std::span<const std::string> collections = {};
};

/// Makes the static objects that encoding uses, so that they are destroyed last: an object of
/// static storage that calls this function in its constructor may encode until its destructor ends.
void prepare_encoding();

/// Encodes the index file of one segment, step by step.
///
/// The bytes of encode_step(), appended one after another, are an Arrow IPC file
/// without its footer, which readers of ours follow while it grows. seal() gives the whole file as
/// anybody reads it. Keeps the rows until it is destroyed. One thread at a time. A failure of Arrow
/// is std::bad_alloc or Error.
class IndexWriter {
 public:
  IndexWriter(const SegmentIdentity& identity, ReductionSet columns);

  /// An upper bound of the bytes that encode_step() returns for such rows.
  static std::uint64_t most_bytes(ReductionSet columns, std::span<const IndexRow> rows) noexcept;

  ~IndexWriter();
  IndexWriter(IndexWriter&&) noexcept;
  IndexWriter& operator=(IndexWriter&&) noexcept;

  /// Encodes the message that commits a step; the first call's bytes begin with magic, schema and
  /// dictionaries. `rows` are sorted by name without duplicates, and not empty.
  std::vector<std::byte> encode_step(const StepHeader& header, std::span<const IndexRow> rows);

  /// Marks the steps encoded so far: their bytes are in the file.
  void mark() noexcept;
  /// Forgets the steps encoded since the last mark(), which must have been called: their bytes did
  /// not get into the file, or encoding failed. The next step's bytes fit behind the marked ones.
  void take_back();

  /// The sealed file: the same rows in batches of whole steps up to 16 Ki rows and 128 MiB, with
  /// footer.
  /// `collections_crc32c` is the checksum of the worker's collections file as these steps need it;
  /// a reader that knows that file need not look whether there is a newer one.
  std::vector<std::byte> seal(std::optional<std::uint32_t> collections_crc32c = std::nullopt) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
