#pragma once

#include <cstdint>
#include <functional>

#include "cupel/delivery/seal_segments.h"
#include "cupel/format/layout.h"

namespace cupel {

/// The seam between saving and delivery: what the writer of a run reports to the object that brings
/// the run to another store.
///
/// The writer works on a local store only. It asks for room before each write, and reports each
/// event after it has happened in the local store. A run whose store can append needs no delivery:
/// its writer has a null pointer in place of this object. The functions may be called from several
/// threads, one at a time. StoreError from any function means the same as from the local store.
class SegmentEvents {
 public:
  virtual ~SegmentEvents() = default;

  /// The room for further writes.
  enum class Room {
    Enough,
    Short,  ///< The open segment should be sealed soon: only sealed segments can make room.
  };

  /// Calls `write`, which writes `bytes` bytes to the local store, and returns the room left.
  ///
  /// Waits before the call while there is no room, as long as deliveries can make some. Where
  /// `write` throws StoreFull, waits for a delivery and calls `write` again; without a delivery to
  /// wait for, throws that StoreFull. Any other exception of `write` passes.
  virtual Room room_for(std::uint64_t bytes, const std::function<void()>& write) = 0;

  /// The writer begins the files of a segment.
  virtual void opened(const SegmentName& name) = 0;
  /// The segment is sealed, or it is damaged: then `report` has the reason, and the segment is
  /// never delivered, nor is the end of the run. A second report for one segment has no effect.
  virtual void sealed(const SegmentName& name, const SealReport& report) = 0;
  /// The worker's collections file was written.
  virtual void collections_changed() = 0;
  /// The worker's part of the run has ended (write_end()). No further event follows.
  virtual void ended() = 0;
};

}  // namespace cupel
