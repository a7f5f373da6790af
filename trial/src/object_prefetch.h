#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/store/store.h"
#include "ordered_tasks.h"

namespace cupel::trial_detail {

/// Requests whole objects, several at a time, in the order in which one thread takes them.
class ObjectPrefetch {
 public:
  /// Borrows the store.
  ObjectPrefetch(const Store& store, std::vector<ObjectInfo> objects, std::size_t at_once);

  /// The bytes of an object, as many as there were; the objects before it are dropped. Null if the
  /// object is not one of those that follow. Throws what the request threw.
  std::shared_ptr<AlignedBuffer> take(const std::string& key);

 private:
  void read(std::size_t nth);

  const Store& store_;
  const std::vector<ObjectInfo> objects_;
  std::vector<std::shared_ptr<AlignedBuffer>> bytes_;  // by object; null before and after its time
  std::size_t next_ = 0;
  OrderedTasks work_;
};

}  // namespace cupel::trial_detail
