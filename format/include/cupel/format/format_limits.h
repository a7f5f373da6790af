#pragma once

#include <cstdint>

namespace cupel {

/// The limits of a run's files. Readers refuse a file that exceeds a limit, so writers do not write
/// one: they begin the next batch or segment, or refuse the step (docs/format.md, Limits).
struct FormatLimits {
  /// Bytes of a message of an index file, with all that lies before the first message.
  std::uint64_t index_message = std::uint64_t{512} << 20U;
  /// Bytes of an index file that is sealed, copied or salvaged; each of these happens in memory.
  std::uint64_t index_file = std::uint64_t{2} << 30U;
  /// Bytes of the columns of a batch of an events file beside the values.
  std::uint64_t events_columns = std::uint64_t{256} << 20U;
  /// Bytes of the footer of an events file, which lists its batches.
  std::uint64_t events_footer = std::uint64_t{64} << 20U;
  /// Bytes of a collections file that is read. Versions before 1.1 of the format listed every saved
  /// tensor in the file.
  std::uint64_t collections_file = std::uint64_t{256} << 20U;
  /// Bytes of a collections file that is written; every reader opens a file of this size.
  std::uint64_t written_collections_file = std::uint64_t{64} << 20U;
  /// Bytes of the names in a collections file that the index holds as well.
  std::uint64_t joined_names = std::uint64_t{8} << 20U;
};

/// The limits that hold in this process.
const FormatLimits& format_limits() noexcept;

namespace format_detail {

/// Sets other limits until it is destroyed, so that tests exceed them with small files. No
/// other thread may read the limits while one is made or destroyed.
class FormatLimitsForTest {
 public:
  explicit FormatLimitsForTest(const FormatLimits& limits);
  ~FormatLimitsForTest();
  FormatLimitsForTest(const FormatLimitsForTest&) = delete;
  FormatLimitsForTest& operator=(const FormatLimitsForTest&) = delete;

 private:
  FormatLimits before_;
};

}  // namespace format_detail
}  // namespace cupel
