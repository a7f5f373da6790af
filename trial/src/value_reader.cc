#include "value_reader.h"

#include <cstring>
#include <memory>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"

namespace cupel::trial_detail {

namespace {

/// Whether the events file holds [offset, offset + length), which is looked up once per segment;
/// nothing when there is no such file.
std::optional<bool> holds(const Store& store, const SegmentFiles& files, std::uint64_t offset,
                          std::uint64_t length) {
  const auto inside = [&](std::uint64_t size) { return offset <= size && length <= size - offset; };
  if (inside(files.events_size.load(std::memory_order_relaxed))) return true;
  const std::optional<ObjectInfo> info = store.stat(files.events_key);
  if (!info) return std::nullopt;
  files.events_size.store(info->size, std::memory_order_relaxed);
  return inside(info->size);
}

}  // namespace

Shape shape_of(const RowForm& form) noexcept {
  return form.has_shape ? Shape(form.extents) : Shape{form.elements};
}

std::optional<TensorValue> read_value(const Store& store, const IndexData& data,
                                      const StepRows& rows, std::size_t row) {
  const RowBlock& block = *rows.block;
  const RowForm& form = data.forms[block.form(row)];
  if (block.is_inline(row)) {
    const std::span<const std::byte> bytes = block.inline_value(row);
    AlignedBuffer buffer(bytes.size());
    if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return TensorValue(form.dtype, shape_of(form),
                       std::make_shared<const AlignedBuffer>(std::move(buffer)),
                       rows.files->index_key, 0);
  }

  const std::string& key = rows.files->events_key;
  const std::uint64_t offset = block.offset(row), length = block.length(row);
  const std::size_t element = element_size(form.dtype);
  // Divided, not multiplied: a product could wrap around.
  if (element != 0 &&
      (length % element != 0 || length / element != static_cast<std::uint64_t>(form.elements)))
    throw FormatError(key, offset, "the value's length does not fit its type and shape");
  const std::optional<bool> is_there = holds(store, *rows.files, offset, length);
  if (!is_there) return std::nullopt;
  if (!*is_there)
    throw FormatError(key, offset, "the value lies behind the end of the events file");

  AlignedBuffer buffer(static_cast<std::size_t>(length));
  const std::size_t got = length == 0 ? 0 : store.get_range(key, offset, buffer.span());
  if (got != length) throw FormatError(key, offset + got, "the events file ends inside the value");
  if (crc32c(buffer.span()) != block.crc32c(row))
    throw FormatError(key, offset, "the value does not have its checksum");
  return TensorValue(form.dtype, shape_of(form),
                     std::make_shared<const AlignedBuffer>(std::move(buffer)), key, offset);
}

}  // namespace cupel::trial_detail
