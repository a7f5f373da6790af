#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../trial/src/index_builder.h"
#include "../../trial/src/index_source.h"
#include "../../trial/src/trial_view.h"
#include "cupel/core/crc32c.h"
#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"

namespace cupel::testing {

/// One row of an index that no file holds.
struct MemoryRow {
  std::int64_t step = 0;
  std::string tensor;
  std::optional<double> mean = std::nullopt;
  /// The value as an index holds a small one.
  std::optional<std::vector<float>> value = std::nullopt;
  /// The value as text, for notes.
  std::string text = {};
  /// The place of the value in an object of the store.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range = std::nullopt;
  std::uint32_t crc32c = 0;
};

/// The columns of some rows as an IndexBatch, which they outlive.
class MemoryBatch {
 public:
  explicit MemoryBatch(const std::vector<MemoryRow>& rows) : present_((rows.size() + 7) / 8, 0xff) {
    tensor_ends_.push_back(0);
    for (const MemoryRow& row : rows) add(row);
    batch_.rows = rows.size();
    batch_.step = batch_.mode_step = step_;
    batch_.time_us = time_;
    batch_.elements = elements_;
    batch_.mode_codes = modes_;
    batch_.dtype_codes = dtypes_;
    batch_.mode_of_code[0] = Mode::Train;
    batch_.dtype_of_code[0] = DType::F32;
    batch_.dtype_of_code[1] = DType::Utf8;
    batch_.tensor_offsets = tensor_ends_;
    batch_.tensor_bytes = tensors_.data();
    batch_.inline_begin = {inline_begins_.data(), inline_bits_.data(), 0};
    batch_.inline_end = {inline_ends_.data(), inline_bits_.data(), 0};
    batch_.inline_bytes = inline_.data();
    batch_.offset = {offsets_.data(), present_.data(), 0};
    batch_.length = {lengths_.data(), present_.data(), 0};
    batch_.crc32c = {crcs_.data(), stored_bits_.data(), 0};
    batch_.reductions[require_reduction("mean").index()] = {means_.data(), mean_bits_.data(), 0};
  }
  const IndexBatch& get() const { return batch_; }

 private:
  static void set(std::vector<std::uint8_t>& bits, std::size_t row, bool value) {
    bits.resize(row / 8 + 1);
    if (value) bits[row / 8] |= static_cast<std::uint8_t>(1U << row % 8);
  }
  void add(const MemoryRow& row) {
    const std::size_t nth = step_.size();
    step_.push_back(row.step);
    time_.push_back(1'700'000'000'000'000 + row.step);
    modes_.push_back(0);
    tensors_ += row.tensor;
    tensor_ends_.push_back(static_cast<std::int32_t>(tensors_.size()));
    inline_begins_.push_back(static_cast<std::int32_t>(inline_.size()));
    if (row.value) append(row.value->data(), row.value->size() * sizeof(float));
    const std::int64_t ends[] = {0, static_cast<std::int64_t>(row.text.size())};
    if (!row.text.empty()) append(ends, sizeof(ends)), append(row.text.data(), row.text.size());
    inline_ends_.push_back(static_cast<std::int32_t>(inline_.size()));
    set(inline_bits_, nth, row.value || !row.text.empty());
    dtypes_.push_back(row.text.empty() ? 0 : 1);
    const auto [offset, length] = row.range.value_or(std::pair<std::uint64_t, std::uint64_t>{});
    offsets_.push_back(static_cast<std::int64_t>(offset));
    lengths_.push_back(static_cast<std::int64_t>(length));
    crcs_.push_back(row.crc32c);
    set(stored_bits_, nth, row.range.has_value());
    const std::size_t count = row.value ? row.value->size() : length / sizeof(float);
    elements_.push_back(row.text.empty() ? static_cast<std::int64_t>(count) : 1);
    means_.push_back(row.mean.value_or(0));
    set(mean_bits_, nth, row.mean.has_value());
  }
  void append(const void* bytes, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(bytes);
    inline_.insert(inline_.end(), first, first + size);
  }

  std::vector<std::int64_t> step_, time_, elements_, offsets_, lengths_;
  std::vector<std::int8_t> modes_, dtypes_;
  std::vector<std::int32_t> tensor_ends_, inline_begins_, inline_ends_;
  std::vector<std::uint32_t> crcs_;
  std::vector<double> means_;
  std::vector<std::byte> inline_;
  std::string tensors_;
  std::vector<std::uint8_t> present_, inline_bits_, stored_bits_, mean_bits_;
  IndexBatch batch_;
};

/// A format of runs that there is not: its index is a list of things that happen, in memory, of
/// which each poll reads what has happened so far.
class MemoryIndex final : public trial_detail::IndexSource {
 public:
  using Event = std::function<void(MemoryIndex&)>;

  MemoryIndex(std::shared_ptr<const std::vector<Event>> events, const TrialOptions& options)
      : events_(std::move(events)),
        builder_(state_, *data(), *options.polling.clock, options.range_steps) {}

  std::string_view format() const noexcept override { return "memory"; }
  bool has_ended() const override { return ended_; }
  LockState writer_lock(std::string_view) const override { return LockState::Unseen; }

  bool find_run() override {
    while (!state_.collections && read_ < events_->size()) (*events_)[read_++](*this);
    return state_.collections != nullptr;
  }
  bool begin_poll() override { return ended_; }
  bool read_news(bool, const Progress&) override {
    while (read_ < events_->size()) (*events_)[read_++](*this);
    return builder_.take_news();
  }
  bool complete_after_failure() override { return is_complete; }

  // What may happen.
  void define(const std::vector<std::string>& workers, const Collections& collections = {}) {
    trial_detail::RunCollections::Files files;
    for (const std::string& worker : workers) {
      CollectionsFile& file = files[worker].content;
      file.num_workers = std::ssize(workers);
      file.run = "a run in memory";
      file.worker = worker;
      file.collections = collections;
    }
    state_.collections = std::make_shared<trial_detail::RunCollections>(std::move(files));
  }
  void commit(const std::string& worker, const std::vector<MemoryRow>& rows,
              std::int32_t attempt = 0) {
    trial_detail::IndexBuilder::Origin origin{"no index file", "values.bin"};
    const MemoryBatch batch(rows);
    builder_.begin_batch();
    trial_detail::for_each_step(batch.get(), [&](std::size_t first, std::size_t last) {
      builder_.append_step(worker, attempt, origin, batch.get(), first, last);
    });
  }
  void end_worker(const std::string& worker) { state_.ended_workers.insert(worker); }
  void end() { ended_ = true; }
  trial_detail::IndexState& state() { return state_; }

  bool is_complete = true;

 private:
  const std::shared_ptr<const std::vector<Event>> events_;
  trial_detail::IndexBuilder builder_;
  std::size_t read_ = 0;
  bool ended_ = false;
};

/// A run whose index is in memory, and the trial that reads it.
struct MemoryIndexRun {
  std::shared_ptr<std::vector<MemoryIndex::Event>> events =
      std::make_shared<std::vector<MemoryIndex::Event>>();
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  TrialOptions options = {.polling = {.clock = std::make_shared<const TrialClock>()}};

  /// `event` happens before the next poll.
  void then(MemoryIndex::Event event) { events->push_back(std::move(event)); }
  /// A worker commits the reduction `mean` of the tensor loss at one step.
  void commit(std::int64_t step, double mean, const std::string& worker = "worker_0",
              std::int32_t attempt = 0) {
    then([=](MemoryIndex& index) {
      index.commit(worker, {{.step = step, .tensor = "loss", .mean = mean}}, attempt);
    });
  }
  std::unique_ptr<Trial> open() const {
    return trial_detail::TrialView::make_trial(
        std::make_shared<trial_detail::TrialIndex>(
            store, std::make_unique<MemoryIndex>(events, options), options),
        "in memory");
  }
};

}  // namespace cupel::testing
