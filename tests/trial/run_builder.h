#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/crc32c.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/events_writer.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"

namespace cupel::testing {

/// One tensor of a step, as a test says it: `raw("w", {1, 2}).with("mean", 1.5)`.
struct SavedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::int64_t elements = 0;
  std::optional<Shape> shape = {};
  std::optional<std::vector<std::byte>> bytes = {};
  std::optional<ValueCounts> counts = {};
  ReductionValues reductions = {};
  std::vector<std::string> collections = {};

  SavedTensor joining(std::vector<std::string> names) && {
    collections = std::move(names);
    return std::move(*this);
  }
  SavedTensor with(std::string_view reduction, double value) && {
    reductions.put(require_reduction(reduction), value);
    return std::move(*this);
  }
  SavedTensor with(ValueCounts special) && {
    counts = special;
    return std::move(*this);
  }
  SavedTensor shapeless() && {
    shape.reset();
    return std::move(*this);
  }
  SavedTensor shaped(const Shape& extents) && {
    shape = extents;
    return std::move(*this);
  }
};

template <class T>
SavedTensor raw_of(std::string name, const std::vector<T>& values) {
  SavedTensor tensor{std::move(name), kDTypeOf<T>, static_cast<std::int64_t>(values.size())};
  tensor.shape = Shape{values.size()};
  tensor.bytes.emplace(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.bytes->data(), values.data(), tensor.bytes->size());
  return tensor;
}

/// f32 values; up to 16 of them live in the index.
inline SavedTensor raw(std::string name, std::initializer_list<float> values) {
  return raw_of(std::move(name), std::vector<float>(values));
}

/// `count` times the same f32 value: 17 and more are in the events file.
inline SavedTensor filled(std::string name, std::size_t count, float value) {
  return raw_of(std::move(name), std::vector<float>(count, value));
}

/// A 0-d f64, as save_scalar() makes it.
inline SavedTensor scalar(std::string name, double value) {
  return raw_of(std::move(name), std::vector<double>{value}).shaped({});
}

/// Reductions of a tensor whose value, counts and shape were not saved.
inline SavedTensor reduced(std::string name, std::string_view reduction, double value) {
  return SavedTensor{std::move(name), DType::F32, 4}.with(reduction, value);
}

inline SavedTensor only_shape(std::string name, const Shape& shape) {
  return SavedTensor{std::move(name), DType::F32, shape.elements(), shape};
}

/// Text: n + 1 offsets, then the bytes. One text is 0-d.
inline SavedTensor texts(std::string name, const std::vector<std::string>& values) {
  std::vector<std::int64_t> offsets = {0};
  std::string all;
  for (const std::string& value : values) {
    all += value;
    offsets.push_back(static_cast<std::int64_t>(all.size()));
  }
  SavedTensor tensor{std::move(name), DType::Utf8, static_cast<std::int64_t>(values.size())};
  tensor.shape = values.size() == 1 ? Shape{} : Shape{values.size()};
  tensor.bytes.emplace(offsets.size() * 8 + all.size());
  std::memcpy(tensor.bytes->data(), offsets.data(), offsets.size() * 8);
  if (!all.empty()) std::memcpy(tensor.bytes->data() + offsets.size() * 8, all.data(), all.size());
  return tensor;
}

/// Which step: `{20}` is global step 20 and step 20 of TRAIN.
struct At {
  At(std::int64_t global) : At(global, Mode::Train, global) {}  // NOLINT(*-explicit-*)
  At(std::int64_t global, Mode step_mode, std::int64_t step_of_mode)
      : step(global), mode(step_mode), mode_step(step_of_mode) {}
  /// What the writer's clock said, in microseconds since 1970.
  At when(std::int64_t time) && {
    time_us = time;
    return *this;
  }
  std::int64_t step;
  Mode mode;
  std::int64_t mode_step;
  std::optional<std::int64_t> time_us = {};  // unset: a second in 2023
};

struct WorkerSpec {
  std::string worker = "worker_0";
  std::int64_t num_workers = 1;
  std::int32_t attempt = 0;
};

/// Writes what one worker leaves of a run, through the format's writers and without a Hook.
///
///     WorkerWriter run(store);
///     run.save(0, {raw("w", {1, 2}), scalar("loss", 0.7)});
///     run.finish();
///
/// In a store that cannot append a segment is put sealed, values, then index, when it has as many
/// steps as put_after() says.
class WorkerWriter {
 public:
  explicit WorkerWriter(Store& store, WorkerSpec spec = {})
      : store_(store), spec_(std::move(spec)) {
    for (std::size_t i = 0; i < Reduction::kCount; ++i) columns_.add(Reduction::at(i));
    write_collections();
  }

  /// A collection of listed names and patterns.
  WorkerWriter& collection(const std::string& name,
                           std::initializer_list<std::string_view> patterns,
                           std::initializer_list<std::string_view> names = {}) {
    Collection& group = collections_.try_emplace(name, name).first->second;
    for (const std::string_view pattern : patterns) group.include(pattern);
    for (const std::string_view tensor : names) group.add_tensor_name(tensor);
    write_collections();
    return *this;
  }

  /// Commits a step: values, then the index batch.
  WorkerWriter& save(At at, std::vector<SavedTensor> tensors) {
    append_index(encode(at, std::move(tensors)));
    return *this;
  }
  /// Commits steps that hold nothing but a scalar called "loss".
  WorkerWriter& save_steps(std::initializer_list<std::int64_t> steps) {
    for (const std::int64_t step : steps) save(step, {scalar("loss", static_cast<double>(step))});
    return *this;
  }

  /// Writes the step's values and gives the bytes that commit it, which append_index() appends.
  std::vector<std::byte> encode(At at, std::vector<SavedTensor> tensors) {
    if (!index_) begin_segment(at.step);
    std::ranges::sort(tensors, {}, &SavedTensor::name);
    std::vector<IndexRow> rows;
    for (const SavedTensor& tensor : tensors) rows.push_back(row_of(tensor, at.step));
    return index_->encode_step(
        {at.step, at.mode, at.mode_step, at.time_us.value_or(kTime + at.step % kDay)}, rows);
  }
  void append_index(std::span<const std::byte> bytes) {
    if (!store_.can_append()) {
      if (++unput_steps_ == steps_to_put_) seal();
      return;
    }
    store_.append(index_key(), index_size_, std::vector{bytes});
    index_size_ += bytes.size();
  }

  /// Seals the segment; the next step begins another.
  WorkerWriter& seal() {
    if (!index_) return *this;
    if (events_size_ > 0) append_events(events_->finish());
    if (!events_to_put_.empty()) store_.put(events_key(), std::exchange(events_to_put_, {}));
    store_.put(index_key(), index_->seal(collections_crc32c_));
    unput_steps_ = 0;
    index_.reset();
    ++segment_;
    return *this;
  }
  /// Where nothing is appended: so many steps are a segment; 1 by default.
  WorkerWriter& put_after(int steps) {
    steps_to_put_ = steps;
    return *this;
  }
  /// Leaves the segment as a killed process does; the next step begins another.
  WorkerWriter& abandon() {
    index_.reset();
    ++segment_;
    return *this;
  }
  WorkerWriter& close() {
    seal();
    if (spec_.num_workers > 1) store_.put(ended_key(spec_.worker), {});
    return *this;
  }
  /// Closes, and ends the run.
  void finish() {
    close();
    store_.put(kEndMarker, {});
  }

  /// Of the segment written last.
  std::string index_key() const { return name_.index_key(); }
  std::string events_key() const { return name_.events_key(); }
  const ValueLocation& last_location() const { return last_location_; }

  static constexpr std::int64_t kTime = 1'700'000'000'000'000, kDay = 86'400'000'000;

 private:
  void write_collections() {
    const auto file = encode_collections_file(
        {spec_.num_workers, "cafe", spec_.worker, spec_.attempt, collections_});
    store_.put(collections_key(spec_.worker), file);
    collections_crc32c_ = crc32c(file);
  }

  void begin_segment(std::int64_t step) {
    const SegmentIdentity identity{"cafe", spec_.worker, spec_.attempt, segment_};
    name_ = {spec_.attempt, step, spec_.worker};
    index_.emplace(identity, columns_);
    events_.emplace(identity);
    index_size_ = events_size_ = 0;
  }

  IndexRow row_of(const SavedTensor& tensor, std::int64_t step) {
    IndexRow row;
    row.tensor = tensor.name;
    row.dtype = tensor.dtype;
    row.elements = tensor.elements;
    if (tensor.shape) row.shape = &*tensor.shape;
    row.counts = tensor.counts;
    row.reductions = tensor.reductions;
    row.collections = tensor.collections;
    if (!tensor.bytes) return row;
    if (tensor.bytes->size() <= kMaxInlineBytes) {
      row.inline_value = *tensor.bytes;
      return row;
    }
    const EventsValue value{tensor.name, tensor.bytes->size()};
    const EventsWriter::Batch batch = events_->begin_batch(step, {&value, 1});
    append_events(batch.before);
    append_events(*tensor.bytes);
    append_events(std::vector<std::byte>(batch.padding));
    last_location_ = {batch.data_offset, value.length, crc32c(*tensor.bytes)};
    row.location = last_location_;
    return row;
  }

  void append_events(std::span<const std::byte> bytes) {
    if (store_.can_append())
      store_.append(events_key(), events_size_, std::vector{bytes});
    else
      events_to_put_.insert(events_to_put_.end(), bytes.begin(), bytes.end());
    events_size_ += bytes.size();
  }

  Store& store_;
  const WorkerSpec spec_;
  ReductionSet columns_;
  Collections collections_;
  std::uint32_t collections_crc32c_ = 0;
  SegmentName name_;
  std::int64_t segment_ = 0;
  std::optional<IndexWriter> index_;
  std::optional<EventsWriter> events_;
  std::uint64_t index_size_ = 0, events_size_ = 0;
  std::vector<std::byte> events_to_put_;
  int unput_steps_ = 0, steps_to_put_ = 1;
  ValueLocation last_location_;
};

/// Flips one bit of an object behind the reader's back.
inline void flip_bit(Store& store, const std::string& key, std::uint64_t offset) {
  auto bytes = *store.get(key);
  bytes.at(static_cast<std::size_t>(offset)) ^= std::byte{1};
  store.put(key, bytes);
}

}  // namespace cupel::testing
