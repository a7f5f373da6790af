#include "tensor_table.h"

#include <functional>

namespace cupel::writer_detail {
namespace {

constexpr std::size_t kFirstSlots = 256;  // a power of two, as every later size

}  // namespace

TensorTable::TensorTable() {
  generations_.push_back(std::make_unique<Slots>(kFirstSlots));
  current_.store(generations_.back().get(), std::memory_order_release);
}

NamedTensor* TensorTable::find(std::string_view name) const noexcept {
  const Slots& table = *current_.load(std::memory_order_acquire);
  for (std::size_t i = std::hash<std::string_view>()(name);; ++i) {
    NamedTensor* tensor = table.slots[i & table.mask].load(std::memory_order_acquire);
    if (tensor == nullptr || tensor->name == name) return tensor;
  }
}

void TensorTable::insert(Slots& table, NamedTensor& tensor) noexcept {
  for (std::size_t i = std::hash<std::string_view>()(tensor.name);; ++i) {
    auto& slot = table.slots[i & table.mask];
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    slot.store(&tensor, std::memory_order_release);
    return;
  }
}

void TensorTable::make_room_for_one() {
  const Slots& table = *generations_.back();
  if ((tensors_.size() + 1) * 2 <= table.mask + 1) return;
  auto larger = std::make_unique<Slots>(2 * (table.mask + 1));
  for (NamedTensor& known : tensors_) insert(*larger, known);
  generations_.push_back(std::move(larger));
  current_.store(generations_.back().get(), std::memory_order_release);
}

}  // namespace cupel::writer_detail
