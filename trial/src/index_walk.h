#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/format/index_reader.h"
#include "cupel/store/store.h"
#include "object_prefetch.h"

namespace cupel::trial_detail {

/// How the reading of an index file ended.
struct WalkEnd {
  SegmentEnd end = SegmentEnd::Torn;
  /// Whether the file had fewer bytes than expected.
  bool came_short = false;
};

/// A file that is replaced while it is read is read again, so many times.
inline constexpr int kMaxRepeats = 8;

/// The error for a segment that is not sealed, though nothing more can come. `reader` is null if
/// nothing of the file was read.
FormatError not_sealed(const std::string& key, const IndexReader* reader, SegmentEnd end);

/// Reads index files, one at a time, and passes on their batches. One thread.
class IndexWalker {
 public:
  /// Borrows the store. Where every request costs time, `requests_at_once` files are requested at
  /// the same time.
  explicit IndexWalker(const Store& store, std::size_t requests_at_once = 1);

  /// Reads a file from the position of its reader up to `size`, and calls `take` for each batch, in
  /// order, on the calling thread.
  ///
  /// A second thread reads and checks long files while the batches before are taken. Throws what
  /// the store and the reader throw, after everything before it was taken. Throws at once what
  /// `take` throws; then the reader may be anywhere behind the batch that was not taken.
  WalkEnd walk(const std::string& key, IndexReader& reader, std::uint64_t size,
               const std::function<void(const IndexBatch&)>& take);

  /// Does the same for a file that replaced one that was walked before. `take` drops most batches,
  /// so the memory of a few suffices.
  WalkEnd walk_again(const std::string& key, IndexReader& reader, std::uint64_t size,
                     const std::function<void(const IndexBatch&)>& take);

  /// Announces the files that will be walked next, from their beginnings and in this order; some
  /// may be left out.
  void will_walk(std::vector<ObjectInfo> files);

  /// Releases the memory that is kept from one piece of a file for the next, and drops the
  /// announced files: no more files will be walked for now.
  void rest();

 private:
  using Take = std::function<void(const IndexBatch&)>;
  class PieceMemory;
  void announce_next(const std::string& key);
  WalkEnd read_pieces(const std::string& key, IndexReader& reader, std::uint64_t size,
                      const Take& take, std::uint64_t piece);

  const Store& store_;
  const std::size_t requests_at_once_;
  std::shared_ptr<PieceMemory> memory_;
  std::deque<std::string> next_;            // announced files, where requests cost nothing
  std::optional<ObjectPrefetch> prefetch_;  // announced files, where they cost
};

}  // namespace cupel::trial_detail
