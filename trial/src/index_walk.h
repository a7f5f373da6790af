#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cupel/core/error.h"
#include "cupel/format/index_reader.h"
#include "cupel/store/store.h"

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
  explicit IndexWalker(const Store& store);

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

  /// Says that a file will be walked after the present one.
  void will_walk(const std::string& key) const;

  /// Gives back the memory that is kept from one piece of a file for the next.
  void forget_memory();

 private:
  using Take = std::function<void(const IndexBatch&)>;
  class PieceMemory;
  WalkEnd read_pieces(const std::string& key, IndexReader& reader, std::uint64_t size,
                      const Take& take, std::uint64_t piece);

  const Store& store_;
  std::shared_ptr<PieceMemory> memory_;
};

}  // namespace cupel::trial_detail
