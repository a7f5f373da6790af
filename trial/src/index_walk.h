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
#include "fetch_ahead.h"

namespace cupel::trial_detail {

/// How a walk over what is new in an index file ended.
struct WalkEnd {
  SegmentEnd end = SegmentEnd::Torn;
  bool came_short = false;  ///< The file had fewer bytes than it was said to have.
};

/// How often a file that is replaced under one read is read again.
inline constexpr int kMaxRepeats = 8;

/// What is to be said of a segment that is not sealed, though nothing more can come; its reader is
/// null where nothing was read.
FormatError not_sealed(const std::string& key, const IndexReader* reader, SegmentEnd end);

/// Reads index files, one at a time, and hands out their batches. One thread.
class IndexWalker {
 public:
  /// Borrows the store. Where every request costs time, so many files are read at once.
  explicit IndexWalker(const Store& store, std::size_t requests_at_once = 1);

  /// Reads a file on from where its reader stands up to `size`, and calls `take` for each batch, in
  /// order, on the calling thread.
  ///
  /// What is long is read and checked by a second thread while the batches before it are taken.
  /// Throws what the store and the reader throw, after everything before it was taken; and at once
  /// what `take` throws: then the reader may stand anywhere behind the batch that was not taken.
  WalkEnd walk(const std::string& key, IndexReader& reader, std::uint64_t size,
               const std::function<void(const IndexBatch&)>& take);

  /// The same for a file that has taken the place of one that was walked before: `take` drops most
  /// batches, so that the memory of a few serves for all.
  WalkEnd walk_again(const std::string& key, IndexReader& reader, std::uint64_t size,
                     const std::function<void(const IndexBatch&)>& take);

  /// Says which files will be walked next, from their beginnings and in this order, unless one is
  /// left out.
  void will_walk(std::vector<ObjectInfo> files);

  /// Says that no more files will be walked for now, and gives back the memory that is kept from
  /// one piece of a file for the next.
  void rest();

 private:
  using Take = std::function<void(const IndexBatch&)>;
  class PieceMemory;
  void have_next_ready(const std::string& key);
  WalkEnd read_pieces(const std::string& key, IndexReader& reader, std::uint64_t size,
                      const Take& take, std::uint64_t piece);

  const Store& store_;
  const std::size_t requests_at_once_;
  std::shared_ptr<PieceMemory> memory_;
  std::deque<std::string> next_;     // files, of a store that is told
  std::optional<FetchAhead> ahead_;  // or of another
};

}  // namespace cupel::trial_detail
