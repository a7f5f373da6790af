#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/writer/hook.h"

namespace cupel::writer_detail {

struct Group;

// What a hook knows of one tensor name. Address and name never change; `tags` is replaced by a
// longer list, never altered. The flag is the present step's decision about its group.
struct NamedTensor : DueFlag {
  explicit NamedTensor(std::string tensor_name) : name(std::move(tensor_name)) {}
  const std::string name;
  std::atomic<const Group*> group{nullptr};  // the tensors that are saved alike
  // Collections that calls put the tensor into, whatever their patterns; null: none.
  std::atomic<const std::vector<std::string>*> tags{nullptr};
  // How many of the tags which index file has; only the thread that writes the index knows.
  mutable std::uint64_t named_in_file = 0;
  mutable std::size_t named_tags = 0;
  std::atomic<bool> saved{false};
  std::atomic<bool> defect_reported{false};
};

// Names that only ever are added: looked up without a lock, added under one.
class TensorTable {
 public:
  TensorTable();

  NamedTensor* find(std::string_view name) const noexcept;
  // Finds or adds; a new one has been through `prepare` before anybody can find it.
  template <class Prepare>
  NamedTensor* find_or_add(std::string_view name, Prepare&& prepare) {
    if (NamedTensor* found = find(name)) return found;
    const MutexLock lock(mutex_);
    if (NamedTensor* found = find(name)) return found;
    make_room_for_one();
    NamedTensor& added = tensors_.emplace_back(std::string(name));
    try {
      prepare(added);
    } catch (...) {  // nobody has found it yet, and nobody may, half made as it is
      tensors_.pop_back();
      throw;
    }
    insert(*generations_.back(), added);
    return &added;
  }
  // Calls `visit` for each of them, beside lookups and saves.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const MutexLock lock(mutex_);
    for (const NamedTensor& tensor : tensors_) visit(tensor);
  }
  // All of them; not beside additions.
  std::deque<NamedTensor>& tensors() noexcept CUPEL_UNCHECKED_LOCKS { return tensors_; }

 private:
  // Open addressing; a slot goes from null to a tensor once.
  struct Slots {
    explicit Slots(std::size_t size)
        : mask(size - 1), slots(std::make_unique<std::atomic<NamedTensor*>[]>(size)) {}
    std::size_t mask;
    std::unique_ptr<std::atomic<NamedTensor*>[]> slots;
  };
  void make_room_for_one() CUPEL_REQUIRES(mutex_);
  static void insert(Slots& slots, NamedTensor& tensor) noexcept;

  mutable Mutex mutex_;
  std::deque<NamedTensor> tensors_ CUPEL_GUARDED_BY(mutex_);
  // Readers may still be in older ones.
  std::vector<std::unique_ptr<Slots>> generations_ CUPEL_GUARDED_BY(mutex_);
  std::atomic<const Slots*> current_;
};

}  // namespace cupel::writer_detail
