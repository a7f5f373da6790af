#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/store/store.h"
#include "work_ahead.h"

namespace cupel::trial_detail {

/// Reads whole objects, several at a time, in the order in which they will be asked for. Of one
/// thread, which asks.
class FetchAhead {
 public:
  /// Borrows the store.
  FetchAhead(const Store& store, std::vector<ObjectInfo> objects, std::size_t at_once);

  /// The bytes of an object, as many as there were; those before it are no longer wanted. Throws
  /// what reading it threw. Null if it is not among those to come.
  std::shared_ptr<AlignedBuffer> take(const std::string& key);

 private:
  void read(std::size_t nth);

  const Store& store_;
  const std::vector<ObjectInfo> objects_;
  std::vector<std::shared_ptr<AlignedBuffer>> bytes_;  // by object; null: to come, or taken
  std::size_t next_ = 0;
  WorkAhead work_;
};

}  // namespace cupel::trial_detail
