// Rows on their way from a batch into the index of a run.
//
// A batch becomes one RowBlock, which holds copies of its columns. Names, shapes and types of rows
// mostly repeat from step to step, so each step keeps a layout (its names) and forms (its shapes
// and types), which all steps share that have the same ones; those of the worker's step before are
// tried first. The refreshing thread runs all of it, while other threads read what earlier
// snapshots show: existing rows never move or change. An attempt that takes steps back gets a
// shortened copy of its worker's list of steps, so that earlier snapshots keep theirs.
//
// Rows that contradict what came before are FormatError, which ends the worker's attempt there. An
// exception between two steps leaves the steps before it appended.

#include "index_builder.h"

#include <limits>
#include <optional>
#include <string_view>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

// A worker that always uses new sets of names must not grow its memory without bound.
constexpr std::size_t kMaxLastRows = 1024;

}  // namespace

struct IndexBuilder::Memory {
  const std::string& name;
  IndexState::Worker& state;
  std::shared_ptr<const LayoutInterner::Entry> layout_hint = nullptr;
  // For each layout the rows that had it last, whose forms are the first guess for the next.
  std::unordered_map<const NameLayout*, std::pair<const RowBlock*, std::uint32_t>> last_rows = {};
  // Collections that rows of this attempt named as the first rows of the run.
  std::size_t new_collections = 0;
};

IndexBuilder::IndexBuilder(IndexState& state, IndexData& data, const TrialClock& clock,
                           const StepRange& range)
    : state_(state),
      data_(data),
      clock_(clock),
      range_begin_(range.begin.value_or(0)),
      range_end_(range.end.value_or(kNoEnd)) {}

IndexBuilder::~IndexBuilder() = default;

IndexBuilder::Memory& IndexBuilder::memory_of(const std::string& worker) {
  if (last_worker_ != nullptr && last_worker_->name == worker) return *last_worker_;
  std::unique_ptr<Memory>& memory = workers_[worker];
  if (!memory) {
    const auto known = state_.workers.try_emplace(worker).first;
    memory.reset(new Memory{known->first, known->second});
  }
  last_worker_ = memory.get();
  return *last_worker_;
}

void IndexBuilder::begin_attempt(const std::string& worker, std::int32_t attempt,
                                 std::int64_t step) {
  begin_attempt(memory_of(worker), attempt, step);
}

void IndexBuilder::begin_attempt(Memory& worker, std::int32_t attempt, std::int64_t step) {
  IndexState::Worker& known = worker.state;
  if (attempt <= known.attempt) return;
  known.attempt = attempt;
  worker.new_collections = 0;
  const std::size_t count = known.steps->sizes().steps;
  const std::size_t kept = known.steps->count_until(step - 1, count);
  if (kept < count) state_.rewinds.push_back(known.steps->step(kept).step);
  if (known.progress >= step) {
    known.steps = known.steps->before(step);
    known.progress = step - 1;
    news_ = true;
  }
}

void IndexBuilder::advance(const std::string& worker, std::int64_t step) {
  IndexState::Worker& known = memory_of(worker).state;
  if (step <= known.progress) return;
  known.progress = step;
  news_ = true;
}

void IndexBuilder::append_step(const std::string& name, std::int32_t attempt, Origin& origin,
                               const IndexBatch& batch, std::size_t first, std::size_t last) {
  Memory& worker = memory_of(name);
  IndexState::Worker& known = worker.state;
  const StepHeader header = batch.header(first);
  begin_attempt(worker, attempt, header.step);
  if (attempt < known.attempt) return;  // A later attempt hid the step before it was read.
  if (header.step <= known.progress)
    throw FormatError(origin.index_key, batch.message_offset,
                      "the segment begins before the end of the one before it");
  // Rows outside the range count, too: only the first step of a tensor names its collections.
  if (batch.any_joined) add_members(worker, origin, batch, first, last);
  if (header.step < range_begin_ || header.step >= range_end_) {
    known.progress = header.step;
    news_ = true;
    return;
  }

  if (block_ == nullptr) block_ = &data_.blocks.emplace_back(batch);
  if (origin.files == nullptr) {
    SegmentFiles& files = data_.files.next();
    files.index_key = origin.index_key;
    files.events_key = origin.events_key;
    files.seen = clock_.now();
    origin.files = &files;
  }
  StepRows rows{.step = header.step,
                .mode_step = header.mode_step,
                .time_us = header.time_us,
                .value_bytes = 0,
                .block = block_,
                .layout = data_.layouts.intern(batch, first, last, worker.layout_hint),
                .files = origin.files,
                .first_row = static_cast<std::uint32_t>(first),
                .mode = header.mode};
  fill_forms(worker, batch, rows);
  const std::size_t reserved = first + rows.layout->before_reserved().size();
  const std::size_t after = last - rows.layout->after_reserved().size();
  for (std::size_t row = first; row < last; ++row)
    if (row < reserved || row >= after) rows.value_bytes += block_->value_bytes(row);
  known.steps->append(rows);
  known.progress = header.step;
  news_ = true;
}

/// No attempt of a worker has more collections than a hook may have, whatever its rows contain.
void IndexBuilder::add_members(Memory& worker, const Origin& origin, const IndexBatch& batch,
                               std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row)
    batch.for_each_joined(row, [&](std::string_view collection) {
      if (data_.members.add(data_.names.intern(batch.tensor(row)), collection) &&
          ++worker.new_collections > kMostCollections)
        throw FormatError(origin.index_key, batch.message_offset,
                          "tensors join more than " + std::to_string(kMostCollections) +
                              " collections that nobody named before");
    });
}

void IndexBuilder::fill_forms(Memory& worker, const IndexBatch& batch, const StepRows& rows) {
  if (worker.last_rows.size() >= kMaxLastRows) worker.last_rows.clear();
  auto& [last_block, last_first] = worker.last_rows[rows.layout];
  const std::size_t count = rows.layout->size();
  if (last_block == rows.block && have_same_forms(batch, last_first, rows.first_row, count)) {
    block_->copy_forms(last_first, rows.first_row, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::optional<std::uint32_t> guess;
      if (last_block != nullptr) guess = last_block->form(last_first + i);
      block_->set_form(rows.first_row + i, data_.forms.intern(batch, rows.first_row + i, guess));
    }
  }
  last_block = rows.block;
  last_first = rows.first_row;
}

}  // namespace cupel::trial_detail
