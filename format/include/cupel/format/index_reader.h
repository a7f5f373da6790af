#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cupel/core/aligned_buffer.h"
#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"
#include "cupel/core/reduction.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"

namespace cupel {

/// A column of fixed-size values with nulls. Every row of a column that the file lacks is
/// null.
template <class T>
class NullableColumn {
 public:
  NullableColumn() = default;
  NullableColumn(const T* values, const std::uint8_t* validity,
                 std::int64_t validity_offset) noexcept
      : values_(values), validity_(validity), validity_offset_(validity_offset) {}
  bool present() const noexcept { return values_ != nullptr; }
  bool has(std::size_t row) const noexcept {
    if (values_ == nullptr) return false;
    if (validity_ == nullptr) return true;
    const auto bit = static_cast<std::size_t>(validity_offset_) + row;
    return (validity_[bit / 8] >> (bit % 8) & 1U) != 0;
  }
  T operator[](std::size_t row) const noexcept { return values_[row]; }  ///< Only where has(row).

 private:
  const T* values_ = nullptr;
  const std::uint8_t* validity_ = nullptr;
  std::int64_t validity_offset_ = 0;
};

/// The rows of one batch of an index file: whole steps, columns checked against each other.
///
/// Every span and pointer lives as long as `memory`. Rows of a step are adjacent and sorted by
/// name.
struct IndexBatch {
  std::shared_ptr<const void> memory;  // the arrow::RecordBatch
  std::uint64_t message_offset = 0;    ///< Where in the file it begins.
  std::size_t rows = 0;
  std::span<const std::int64_t> step, mode_step, time_us, elements;
  std::span<const std::int8_t> mode_codes, dtype_codes;
  std::array<Mode, 128> mode_of_code{};
  std::array<DType, 128> dtype_of_code{};
  std::span<const std::int32_t> tensor_offsets;  ///< rows + 1
  const char* tensor_bytes = nullptr;
  NullableColumn<std::int32_t> shape_begin,
      shape_end;  ///< Positions in shape_extents; null: no shape saved.
  const std::int64_t* shape_extents = nullptr;
  NullableColumn<std::int64_t> offset, length;
  NullableColumn<std::uint32_t> crc32c;
  NullableColumn<std::int32_t> inline_begin, inline_end;  ///< Positions in inline_bytes.
  const std::byte* inline_bytes = nullptr;
  NullableColumn<std::int64_t> nan, pos_inf, neg_inf, zero;
  NullableColumn<std::int32_t> joined_begin, joined_end;  ///< Positions in joined_offsets.
  const std::int32_t* joined_offsets = nullptr;
  const char* joined_bytes = nullptr;
  bool any_joined = false;  ///< Whether any row names collections that its tensor joined.
  std::array<NullableColumn<double>, Reduction::kCount> reductions{};

  std::string_view tensor(std::size_t row) const noexcept {
    return {tensor_bytes + tensor_offsets[row],
            static_cast<std::size_t>(tensor_offsets[row + 1] - tensor_offsets[row])};
  }
  /// The name at a position from joined_begin[row] to joined_end[row].
  std::string_view joined(std::int32_t position) const noexcept {
    return {joined_bytes + joined_offsets[position],
            static_cast<std::size_t>(joined_offsets[position + 1] - joined_offsets[position])};
  }
  /// Calls `visit(name)` for each collection that the row says its tensor joined.
  template <class Visit>
  void for_each_joined(std::size_t row, Visit&& visit) const {
    if (!any_joined || !joined_begin.has(row)) return;
    for (std::int32_t at = joined_begin[row]; at < joined_end[row]; ++at) visit(joined(at));
  }
  StepHeader header(std::size_t row) const noexcept {
    return {step[row], mode_of_code[static_cast<std::uint8_t>(mode_codes[row])], mode_step[row],
            time_us[row]};
  }
  DType dtype(std::size_t row) const noexcept {
    return dtype_of_code[static_cast<std::uint8_t>(dtype_codes[row])];
  }
};

/// The end of the bytes of a file that were read so far.
enum class SegmentEnd {
  Open,    ///< At the end of a message: more may be appended.
  Torn,    ///< Inside or behind a last message that is incomplete or fails its checksum.
  Sealed,  ///< With end-of-stream, footer and magic, exactly at the file's end.
};

/// Walks the messages of one index file, checks the checksum of each before anything parses it, and
/// passes the batches on; continues where it stopped when the file has grown.
///
/// Nothing read is trusted: lengths are checked before memory is allocated, and columns against
/// each other.
class IndexReader {
 public:
  /// `key` is the file's key in the run; worker, attempt and first step in the file must agree with
  /// it, the step only if `has_first_step`. Throws UsageError when it is not the key of an index
  /// file.
  explicit IndexReader(std::string key, bool has_first_step = true);
  ~IndexReader();
  IndexReader(IndexReader&&) noexcept;
  IndexReader& operator=(IndexReader&&) noexcept;

  /// Bytes of the file that have been walked and need not be read again.
  std::uint64_t consumed() const noexcept;

  /// Continues reading: `tail` are all bytes of the file from consumed() to its present end. Calls
  /// `on_batch` for each whole batch. Throws FormatError with the place for damage, after the calls
  /// for the batches before the damage.
  SegmentEnd read(const std::shared_ptr<const AlignedBuffer>& tail,
                  const std::function<void(const IndexBatch&)>& on_batch);

  /// Why the end is Torn; "" otherwise.
  const std::string& torn_reason() const noexcept;

  /// The identity that the file states; nothing before its schema was read.
  const std::optional<SegmentIdentity>& identity() const noexcept;

  /// The checksum of the collections file that the steps need; nothing before the schema was read,
  /// and where the file has none.
  const std::optional<std::uint32_t>& collections_crc32c() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
