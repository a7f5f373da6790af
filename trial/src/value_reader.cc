#include "value_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
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

TensorValue inline_value(const IndexData& data, const ValuePlace& place) {
  const RowForm& form = data.forms[place.rows->block->form(place.row)];
  const std::span<const std::byte> bytes = place.rows->block->inline_value(place.row);
  AlignedBuffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return TensorValue(form.dtype, shape_of(form),
                     std::make_shared<const AlignedBuffer>(std::move(buffer)),
                     place.rows->files->index_key, 0);
}

/// Memory for a stored value; nothing when the events file is not there.
std::optional<AlignedBuffer> memory_for(const Store& store, const IndexData& data,
                                        const ValuePlace& place) {
  const RowBlock& block = *place.rows->block;
  const RowForm& form = data.forms[block.form(place.row)];
  const std::string& key = place.rows->files->events_key;
  const std::uint64_t offset = block.offset(place.row), length = block.length(place.row);
  const std::size_t element = element_size(form.dtype);
  // Divided, not multiplied: a product could wrap around.
  if (element != 0 &&
      (length % element != 0 || length / element != static_cast<std::uint64_t>(form.elements)))
    throw FormatError(key, offset, "the value's length does not fit its type and shape");
  const std::optional<bool> is_there = holds(store, *place.rows->files, offset, length);
  if (!is_there) return std::nullopt;
  if (!*is_there)
    throw FormatError(key, offset, "the value lies behind the end of the events file");
  return AlignedBuffer(static_cast<std::size_t>(length));
}

/// What was read, once it is known to be what was written.
TensorValue checked_value(const IndexData& data, const ValuePlace& place, AlignedBuffer buffer,
                          std::size_t got) {
  const RowBlock& block = *place.rows->block;
  const RowForm& form = data.forms[block.form(place.row)];
  const std::string& key = place.rows->files->events_key;
  const std::uint64_t offset = block.offset(place.row);
  if (got != block.length(place.row))
    throw FormatError(key, offset + got, "the events file ends inside the value");
  if (crc32c(buffer.span()) != block.crc32c(place.row))
    throw FormatError(key, offset, "the value does not have its checksum");
  return TensorValue(form.dtype, shape_of(form),
                     std::make_shared<const AlignedBuffer>(std::move(buffer)), key, offset);
}

using Values = std::span<std::optional<TensorValue>>;

/// Reads values of one segment.
void read_together(const Store& store, const IndexData& data, std::span<const ValuePlace> places,
                   Values values) {
  std::vector<std::optional<AlignedBuffer>> buffers(places.size());
  std::vector<Store::Range> ranges;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [rows, row] = places[i];
    if (rows->block->is_inline(row)) {
      values[i] = inline_value(data, places[i]);
    } else if ((buffers[i] = memory_for(store, data, places[i])) && buffers[i]->size() > 0) {
      ranges.push_back({rows->block->offset(row), buffers[i]->span()});
    }
  }
  if (!ranges.empty()) store.get_ranges(places.front().rows->files->events_key, ranges);
  auto read = ranges.begin();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!buffers[i]) continue;
    const std::size_t got = buffers[i]->size() > 0 ? (read++)->got : 0;
    values[i] = checked_value(data, places[i], *std::move(buffers[i]), got);
  }
}

/// A part of the places, all of one segment.
struct Task {
  std::size_t begin = 0, end = 0;
  std::exception_ptr failure = nullptr;
};

constexpr std::uint64_t kTaskBytes = std::uint64_t{1} << 20U;

std::uint64_t stored_bytes(std::span<const ValuePlace> places) {
  std::uint64_t bytes = 0;
  for (const auto& [rows, row] : places)
    if (rows->block->is_stored(row)) bytes += rows->block->length(row);
  return bytes;
}

std::vector<Task> tasks_of(std::span<const ValuePlace> places) {
  std::vector<Task> tasks;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [rows, row] = places[i];
    const bool fits = i > 0 && rows->files == places[i - 1].rows->files && bytes < kTaskBytes;
    if (!fits) {
      tasks.push_back({i, i});
      bytes = 0;
    }
    tasks.back().end = i + 1;
    if (rows->block->is_stored(row)) bytes += rows->block->length(row);
  }
  return tasks;
}

}  // namespace

Shape shape_of(const RowForm& form) noexcept {
  return form.has_shape ? Shape(form.extents) : Shape{form.elements};
}

std::optional<TensorValue> read_value(const Store& store, const IndexData& data,
                                      const StepRows& rows, std::size_t row) {
  const ValuePlace place{&rows, row};
  if (rows.block->is_inline(row)) return inline_value(data, place);
  std::optional<AlignedBuffer> buffer = memory_for(store, data, place);
  if (!buffer) return std::nullopt;
  const std::size_t got =
      buffer->size() == 0
          ? 0
          : store.get_range(rows.files->events_key, rows.block->offset(row), buffer->span());
  return checked_value(data, place, *std::move(buffer), got);
}

std::vector<std::optional<TensorValue>> read_values(const Store& store, const IndexData& data,
                                                    std::span<const ValuePlace> places) {
  std::vector<std::optional<TensorValue>> values(places.size());
  std::vector<Task> tasks = tasks_of(places);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    // Tasks are taken in order, and what was taken is done: the first that fails is always found.
    while (!failed) {
      const std::size_t i = next++;
      if (i >= tasks.size()) return;
      Task& task = tasks[i];
      const std::size_t count = task.end - task.begin;
      try {
        read_together(store, data, places.subspan(task.begin, count),
                      Values(values).subspan(task.begin, count));
      } catch (...) {
        task.failure = std::current_exception();
        failed = true;
      }
    }
  };
  {
    constexpr std::size_t kMostThreads = 4;
    const bool is_worth_it = stored_bytes(places) >= kTaskBytes;
    const std::size_t threads =
        is_worth_it ? std::min({tasks.size(), std::size_t{std::thread::hardware_concurrency()},
                                kMostThreads})
                    : 1;
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < threads) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // of a process that may have no more threads
    }
    work();
  }
  for (const Task& task : tasks)
    if (task.failure) std::rethrow_exception(task.failure);
  return values;
}

}  // namespace cupel::trial_detail
