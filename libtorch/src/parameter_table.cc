// The parameters of a capture by the storage they lie in.
//
// A sorted vector of parts of storages is searched by the storage's address and the offset at which
// a tensor begins. The owner of the table holds a lock. Adding may throw, searching does not: what
// a tensor of an unknown kind throws when it is asked for its storage means that it lies in no
// parameter.

#include "parameter_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cupel::libtorch_detail {
namespace {

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

std::size_t first_byte(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.storage_offset()) * tensor.itemsize();
}

// Behind the last element; the first byte for an empty tensor.
std::size_t end_byte(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return first_byte(tensor);
  std::size_t last = 0;  // element, counted from the first
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis)
    last += static_cast<std::size_t>(tensor.size(axis) - 1) *
            static_cast<std::size_t>(tensor.stride(axis));
  return first_byte(tensor) + (last + 1) * tensor.itemsize();
}

using Key = std::tuple<const c10::StorageImpl*, std::size_t>;

}  // namespace

const std::string& LabelTable::label(std::string_view name) {
  const auto known = labels_.find(name);
  return known != labels_.end() ? *known : *labels_.emplace(name).first;
}

void ParameterTable::add(const at::Tensor& parameter, ParameterOwner owner) {
  const auto is_known = [&](const Parameter& known) { return known.tensor.is_same(parameter); };
  if (!parameter.defined() || std::ranges::any_of(parameters_, is_known)) return;
  parameters_.push_back({parameter, std::move(owner), std::nullopt});
  insert_part(parameters_.back());
}

void ParameterTable::clear() noexcept {
  parts_.clear();
  parameters_.clear();
}

void ParameterTable::insert_part(Parameter& parameter) {
  parameter.storage.reset();
  if (!parameter.tensor.has_storage()) return;
  parameter.storage = parameter.tensor.storage().getWeakStorageImpl();
  const Part part{storage_of(parameter.tensor), first_byte(parameter.tensor),
                  end_byte(parameter.tensor), &parameter.owner};
  if (part.begin != part.end)
    parts_.insert(std::ranges::upper_bound(parts_, key_of(part), {}, key_of), part);
}

const ParameterOwner* ParameterTable::find(const at::Tensor& tensor) const noexcept {
  try {
    const c10::StorageImpl* storage = storage_of(tensor);
    if (storage == nullptr) return nullptr;
    const std::size_t begin = first_byte(tensor);
    const Part* found = nullptr;
    auto part = std::ranges::upper_bound(parts_, Key(storage, begin), {}, key_of);
    while (part != parts_.begin() && (--part)->storage == storage) {
      if (found != nullptr && part->begin != found->begin) break;
      if (begin < part->end) found = &*part;
    }
    return found != nullptr ? found->owner : nullptr;
  } catch (...) {
    return nullptr;
  }
}

bool ParameterTable::refresh() {
  const auto has_moved = [](const Parameter& parameter) {
    return storage_of(parameter.tensor) !=
           (parameter.storage ? parameter.storage->_unsafe_get_target() : nullptr);
  };
  if (std::ranges::none_of(parameters_, has_moved)) return false;
  parts_.clear();
  for (Parameter& parameter : parameters_) insert_part(parameter);
  return true;
}

}  // namespace cupel::libtorch_detail
