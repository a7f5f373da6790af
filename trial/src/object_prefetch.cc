#include "object_prefetch.h"

#include <utility>

namespace cupel::trial_detail {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20U;

}  // namespace

ObjectPrefetch::ObjectPrefetch(const Store& store, std::vector<ObjectInfo> objects,
                               std::size_t at_once)
    : store_(store),
      objects_(std::move(objects)),
      bytes_(objects_.size()),
      work_(
          [this] {
            std::vector<OrderedTasks::Task> tasks;
            for (std::size_t i = 0; i < objects_.size(); ++i)
              tasks.push_back({[this, i] { read(i); }, objects_[i].size});
            return tasks;
          }(),
          at_once, kMostBytes) {}

void ObjectPrefetch::read(std::size_t nth) {
  const ObjectInfo& object = objects_[nth];
  auto bytes = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(object.size));
  bytes->resize(store_.get_range(object.key, 0, bytes->span()));
  bytes_[nth] = std::move(bytes);
}

std::shared_ptr<AlignedBuffer> ObjectPrefetch::take(const std::string& key) {
  std::size_t nth = next_;
  while (nth < objects_.size() && objects_[nth].key != key) ++nth;
  if (nth == objects_.size()) return nullptr;
  next_ = nth + 1;
  work_.await(nth);
  return std::exchange(bytes_[nth], nullptr);
}

}  // namespace cupel::trial_detail
