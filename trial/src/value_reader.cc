// Reading raw values.
//
// Any thread reads; nothing is shared but the known sizes of events files, which are atomics, and
// the count of calls of stop_waiting(). The rows of a call are grouped into tasks by file; the
// calling thread performs them, with a few more threads where that is faster.
//
// A value is returned only after its length, its checksum and its type agree with its row; any
// disagreement is DamagedValue. Where every request costs, an events file may be missing for a
// while after its index: the reader retries with growing pauses until the timeout of the value.

#include "value_reader.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"

namespace cupel::trial_detail {

namespace {

using std::chrono::milliseconds;

// What a thread reads at one time. Where requests cost, a longer request costs less than more
// threads.
constexpr std::uint64_t kTaskBytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t kCostlyTaskBytes = std::uint64_t{8} << 20U;
constexpr std::size_t kMostThreads = 4;

// So much memory is allocated on the word of the index; for more, the file must be long enough.
constexpr std::uint64_t kTrustedBytes = std::uint64_t{64} << 20U;

// A missing object is requested again after the first pause, which doubles up to the longest.
constexpr milliseconds kFirstPause{250};
constexpr milliseconds kLongestPause{5000};

TensorValue inline_value(const IndexData& data, const ValuePlace& place) {
  const RowForm& form = data.forms[place.rows->block->form(place.row)];
  const std::span<const std::byte> bytes = place.rows->block->inline_value(place.row);
  AlignedBuffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return TensorValue(form.dtype, shape_of(form), std::make_shared<AlignedBuffer>(std::move(buffer)),
                     place.rows->files->index_key, 0);
}

/// The value that was read, after a check against its row.
TensorValue checked_value(const IndexData& data, const ValuePlace& place, AlignedBuffer buffer,
                          std::size_t got) {
  const RowBlock& block = *place.rows->block;
  const RowForm& form = data.forms[block.form(place.row)];
  const std::string& key = place.rows->files->events_key;
  const std::uint64_t offset = block.offset(place.row);
  if (got == 0 && !buffer.span().empty())
    throw DamagedValue(key, offset, "the value lies behind the end of the events file");
  if (got != block.length(place.row))
    throw DamagedValue(key, offset + got, "the events file ends inside the value");
  if (crc32c(buffer.span()) != block.crc32c(place.row))
    throw DamagedValue(key, offset, "the value does not have its checksum");
  return TensorValue(form.dtype, shape_of(form), std::make_shared<AlignedBuffer>(std::move(buffer)),
                     key, offset);
}

std::uint64_t stored_bytes(const ValuePlace& place) {
  const RowBlock& block = *place.rows->block;
  return block.is_stored(place.row) ? block.length(place.row) : 0;
}

}  // namespace

Shape shape_of(const RowForm& form) noexcept {
  return form.has_shape ? Shape(form.extents) : Shape{form.elements};
}

/// Values of one file that are read together, by their numbers in the call.
struct ValueReader::Task {
  std::vector<std::size_t> places;
  std::uint64_t bytes = 0;
  std::exception_ptr failure = nullptr;
};

ValueReader::ValueReader(const Store& store, const IndexData& data,
                         std::shared_ptr<const TrialClock> clock, const PollingOptions& options)
    : store_(store),
      data_(data),
      clock_(std::move(clock)),
      requests_cost_(!store.can_append()),
      requests_at_once_(static_cast<std::size_t>(options.requests_at_once)),
      value_timeout_(options.value_timeout) {}

std::uint64_t ValueReader::prefetch_bytes() const noexcept {
  // So little that one thread reads it: rules have threads of their own.
  return requests_cost_ ? kCostlyTaskBytes : kTaskBytes / 2;
}

/// Whether the events file holds [offset, offset + length); nothing when there is no such file. The
/// size is requested once per segment, and again when it does not suffice.
std::optional<bool> ValueReader::holds(const SegmentFiles& files, std::uint64_t offset,
                                       std::uint64_t length) {
  const auto inside = [&](std::uint64_t size) { return offset <= size && length <= size - offset; };
  if (inside(files.events_size.load(std::memory_order_relaxed))) return true;
  const std::optional<ObjectInfo> info = store_.stat(files.events_key);
  if (!info) return std::nullopt;
  files.events_size.store(info->size, std::memory_order_relaxed);
  return inside(info->size);
}

/// Memory for a stored value; nothing when the events file is known to be missing.
std::optional<AlignedBuffer> ValueReader::memory_for(const ValuePlace& place) {
  const RowBlock& block = *place.rows->block;
  const RowForm& form = data_.forms[block.form(place.row)];
  const std::string& key = place.rows->files->events_key;
  const std::uint64_t offset = block.offset(place.row), length = block.length(place.row);
  const std::size_t element = element_size(form.dtype);
  // Divided, not multiplied: a product could wrap around.
  if (element != 0 &&
      (length % element != 0 || length / element != static_cast<std::uint64_t>(form.elements)))
    throw DamagedValue(key, offset, "the value's length does not fit its type and shape");
  if (!requests_cost_ || length > kTrustedBytes) {
    const std::optional<bool> is_there = holds(*place.rows->files, offset, length);
    if (!is_there) return std::nullopt;
    if (!*is_there)
      throw DamagedValue(key, offset, "the value lies behind the end of the events file");
  }
  return AlignedBuffer(static_cast<std::size_t>(length));
}

/// The waiting of one call for a missing object.
class ValueReader::MissingValueWait {
 public:
  MissingValueWait(ValueReader& reader, const SegmentFiles& files)
      : reader_(reader), until_(files.seen + reader.value_timeout_) {
    const MutexLock lock(reader_.mutex_);
    stops_ = reader_.stops_;
  }

  /// Waits until the next request; false when the timeout is over or the waiting was stopped.
  bool wait(const std::string& key) {
    const TrialClock::Time now = reader_.clock_->now();
    if (now >= until_) return false;
    if (pause_ == kFirstPause)
      log(LogLevel::Info, "waiting for values that an index names: " + key);
    const TrialClock::Time again = std::min(now + pause_, until_);
    pause_ = std::min(2 * pause_, kLongestPause);
    MutexLock lock(reader_.mutex_);
    while (reader_.stops_ == stops_ && reader_.clock_->now() < again)
      reader_.clock_->wait_until(reader_.stopped_, lock, again);
    return reader_.stops_ == stops_;
  }

 private:
  ValueReader& reader_;
  const TrialClock::Time until_;
  milliseconds pause_ = kFirstPause;
  std::uint64_t stops_ = 0;
};

void ValueReader::stop_waiting() {
  {
    const MutexLock lock(mutex_);
    ++stops_;
  }
  stopped_.notify_all();
}

/// Reads parts of an events file; false when the file is missing.
bool ValueReader::get(const SegmentFiles& files, std::span<Store::Range> ranges) {
  if (!requests_cost_) {
    store_.get_ranges(files.events_key, ranges);
    return true;
  }
  MissingValueWait missing(*this, files);
  for (bool was_there = false;;) {
    try {
      store_.get_ranges(files.events_key, ranges);
      return true;
    } catch (const StoreError& error) {
      // The request may have failed because the object is missing; it may have come just now.
      if (was_there || error.retryable) throw;
      was_there = store_.stat(files.events_key).has_value();
      if (!was_there && !missing.wait(files.events_key)) return false;
    }
  }
}

/// Reads values of one segment.
void ValueReader::read_together(std::span<const ValuePlace> places, Values values) {
  std::vector<std::optional<AlignedBuffer>> buffers(places.size());
  std::vector<Store::Range> ranges;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [rows, row] = places[i];
    if (rows->block->is_inline(row)) {
      values[i] = inline_value(data_, places[i]);
    } else if ((buffers[i] = memory_for(places[i])) && buffers[i]->size() > 0) {
      ranges.push_back({rows->block->offset(row), buffers[i]->span()});
    }
  }
  if (!ranges.empty() && !get(*places.front().rows->files, ranges)) return;
  auto read = ranges.begin();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!buffers[i]) continue;
    const std::size_t got = buffers[i]->size() > 0 ? (read++)->got : 0;
    values[i] = checked_value(data_, places[i], *std::move(buffers[i]), got);
  }
}

/// Tasks in the order of their first values.
std::vector<ValueReader::Task> ValueReader::tasks_of(std::span<const ValuePlace> places) const {
  const std::uint64_t most_bytes = requests_cost_ ? kCostlyTaskBytes : kTaskBytes;
  std::vector<Task> tasks;
  std::unordered_map<const SegmentFiles*, std::size_t> task_of;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [known, is_new] = task_of.try_emplace(places[i].rows->files, tasks.size());
    if (!is_new && tasks[known->second].bytes >= most_bytes) known->second = tasks.size();
    if (known->second == tasks.size()) tasks.emplace_back();
    Task& task = tasks[known->second];
    task.places.push_back(i);
    task.bytes += stored_bytes(places[i]);
  }
  return tasks;
}

std::size_t ValueReader::threads_for(const std::vector<Task>& tasks,
                                     std::span<const ValuePlace> places) const {
  if (requests_cost_) {
    const auto asks = [](const Task& task) { return task.bytes > 0; };
    const auto requests = static_cast<std::size_t>(std::ranges::count_if(tasks, asks));
    return std::clamp<std::size_t>(requests, 1, requests_at_once_);
  }
  std::uint64_t bytes = 0;
  for (const ValuePlace& place : places) bytes += stored_bytes(place);
  if (bytes < kTaskBytes) return 1;
  return std::min({tasks.size(), std::size_t{std::thread::hardware_concurrency()}, kMostThreads});
}

std::optional<TensorValue> ValueReader::read(const StepRows& rows, std::size_t row) {
  const ValuePlace place{&rows, row};
  if (rows.block->is_inline(row)) return inline_value(data_, place);
  std::optional<TensorValue> value;
  read_together({&place, 1}, {&value, 1});
  return value;
}

std::vector<std::optional<TensorValue>> ValueReader::read(std::span<const ValuePlace> places) {
  std::vector<std::optional<TensorValue>> values(places.size());
  std::vector<Task> tasks = tasks_of(places);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto perform = [&](Task& task) {
    std::vector<ValuePlace> its_places;
    for (const std::size_t i : task.places) its_places.push_back(places[i]);
    std::vector<std::optional<TensorValue>> its_values(its_places.size());
    read_together(its_places, its_values);
    for (std::size_t i = 0; i < its_values.size(); ++i)
      values[task.places[i]] = std::move(its_values[i]);
  };
  const auto work = [&] {
    // Tasks begin in order and are always finished, so the first task that fails is always the
    // same.
    while (!failed) {
      const std::size_t i = next++;
      if (i >= tasks.size()) return;
      try {
        perform(tasks[i]);
      } catch (...) {
        tasks[i].failure = std::current_exception();
        failed = true;
      }
    }
  };
  {
    const std::size_t threads = threads_for(tasks, places);
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < threads) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // The process may have no more threads.
    }
    work();
  }
  for (const Task& task : tasks)
    if (task.failure) std::rethrow_exception(task.failure);
  return values;
}

}  // namespace cupel::trial_detail
