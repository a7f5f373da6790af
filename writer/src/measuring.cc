// A value is measured in blocks that stay in the nearest cache: the checksum reads a block from
// memory, the statistics find it there.

#include "measuring.h"

#include <algorithm>
#include <array>
#include <utility>

#include "chunk_pool.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/mutex.h"
#include "cupel/stats/statistics.h"
#include "cupel/stats/value_counting.h"
#include "step_record.h"

namespace cupel::writer_detail {
namespace {

constexpr std::size_t kBlockBytes = 32U << 10U;
static_assert(kBlockBytes % (8 * StatisticsAccumulator::kBlockElements) == 0);

// What one taker takes at once: few locks for small values, little waiting for large ones.
constexpr std::size_t kMostTaken = 32;
constexpr std::size_t kEnoughBytes = 128U << 10U;

void measure(Record& value) {
  const auto bytes = value.value();
  const bool counted = is_floating(value.dtype);
  if (value.dtype == DType::Utf8 || !(counted || !value.wanted.empty())) {
    if (value.location) value.location->crc32c = crc32c(bytes);
    return;
  }
  const std::size_t element = element_size(value.dtype);
  std::uint32_t crc = 0;
  const auto for_each_block = [&](auto&& add) {
    for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
      const auto block = bytes.subspan(at, std::min(kBlockBytes, bytes.size() - at));
      if (value.location) crc = crc32c(block, crc);
      add(block.data(), block.size() / element);
    }
    if (value.location) value.location->crc32c = crc;
  };
  if (value.wanted.empty()) {
    ValueCounts& counts = value.counts.emplace();
    for_each_block([&](const std::byte* data, std::size_t count) {
      count_values(value.dtype, data, count, counts);
    });
    return;
  }
  StatisticsAccumulator accumulator(value.dtype);
  for_each_block([&](const std::byte* data, std::size_t count) { accumulator.add(data, count); });
  const Statistics statistics = accumulator.finish();
  if (counted) value.counts = statistics.counts;
  value.reductions = compute_reductions(TensorView(bytes.data(), value.dtype, value.shape),
                                        value.wanted, &statistics);
}

}  // namespace

void Measuring::expect_one() {
  const MutexLock lock(mutex_);
  if (++expected_ > values_.capacity()) values_.reserve(std::max<std::size_t>(64, 2 * expected_));
}

void Measuring::add(Record& value) noexcept {
  const MutexLock lock(mutex_);
  values_.push_back(&value);
}

bool Measuring::has_work() const noexcept {
  const MutexLock lock(mutex_);
  return taken_ < values_.size();
}

bool Measuring::measure_some() noexcept {
  std::array<Record*, kMostTaken> mine{};
  std::size_t count = 0;
  {
    const MutexLock lock(mutex_);
    for (std::size_t bytes = 0;
         count < kMostTaken && bytes < kEnoughBytes && taken_ < values_.size(); ++count) {
      mine[count] = values_[taken_++];
      bytes += mine[count]->value().size();
    }
  }
  std::exception_ptr error;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      measure(*mine[i]);
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    if (mine[i]->chunk != nullptr) pool_.release(mine[i]->chunk);
  }
  if (count > 0) done_with(count, std::move(error));
  return count > 0;
}

void Measuring::done_with(std::size_t count, std::exception_ptr error) noexcept {
  const MutexLock lock(mutex_);
  done_ += count;
  if (error_ == nullptr) error_ = std::move(error);
  if (done_ == values_.size()) all_done_.notify_all();
}

void Measuring::finish() {
  while (measure_some()) {
  }
  MutexLock lock(mutex_);
  all_done_.wait(lock, [&]() CUPEL_REQUIRES(mutex_) { return done_ == values_.size(); });
  if (error_ != nullptr) std::rethrow_exception(error_);
}

}  // namespace cupel::writer_detail
