#include "value_bytes.h"

#include <cstring>
#include <string>

#include "copy_past_caches.h"
#include "cupel/core/utf8.h"
#include "cupel/format/layout.h"

namespace cupel::writer_detail {
namespace {

const std::string* strings_of(const TensorView& view) noexcept {
  return static_cast<const std::string*>(view.data());
}

}  // namespace

const char* value_defect(const TensorView& view) noexcept {
  if (const char* defect = view.defect()) return defect;
  if (view.dtype() == DType::Utf8 && !view.is_contiguous()) return "strings with strides";
  return nullptr;
}

const char* tensor_name_defect(std::string_view name) noexcept {
  if (name.empty()) return "a tensor's name is empty";
  if (name.size() > kMaxTensorName) return "a tensor's name is longer than 4096 bytes";
  if (is_reserved_tensor(name)) return "names beginning with \"cupel/\" are reserved";
  if (!is_utf8(name)) return "a tensor's name is not UTF-8";
  return nullptr;
}

const char* collection_name_defect(std::string_view name) noexcept {
  if (name.empty()) return "a collection's name is empty";
  if (name.size() > kMaxCollectionName) return "a collection's name is longer than 4096 bytes";
  if (!is_utf8(name)) return "a collection's name is not UTF-8";
  return nullptr;
}

std::uint64_t value_length(const TensorView& view) noexcept {
  const auto elements = static_cast<std::uint64_t>(view.elements());
  if (view.dtype() != DType::Utf8) return elements * element_size(view.dtype());
  std::uint64_t length = (elements + 1) * sizeof(std::int64_t);
  for (std::uint64_t i = 0; i < elements; ++i) length += strings_of(view)[i].size();
  return length;
}

void write_value(const TensorView& view, std::byte* out) noexcept {
  if (view.dtype() != DType::Utf8) {
    if (view.is_contiguous()) {
      copy_past_caches(out, static_cast<const std::byte*>(view.data()), value_length(view));
    } else {
      view.copy_to(out);
    }
    return;
  }
  const auto elements = static_cast<std::size_t>(view.elements());
  std::byte* text = out + (elements + 1) * sizeof(std::int64_t);
  std::int64_t end = 0;
  std::memcpy(out, &end, sizeof end);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::string& element = strings_of(view)[i];
    std::memcpy(text + end, element.data(), element.size());
    end += static_cast<std::int64_t>(element.size());
    std::memcpy(out + (i + 1) * sizeof end, &end, sizeof end);
  }
}

}  // namespace cupel::writer_detail
