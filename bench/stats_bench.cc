// Statistics of tensors against what bounds them, reading the same bytes, and against the plain
// loop one would write instead. Arrays of 64 MiB lie beyond the caches, of 256 KiB and 4 KiB
// within.
//
//   stats_bench --benchmark_repetitions=9

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "cupel/stats/statistics.h"
#include "paired.h"

namespace cupel {
namespace {

std::vector<float> normal_values(std::size_t count, float mean = 0, float deviation = 1) {
  std::mt19937 random(7);  // NOLINT(*-msc51-cpp): the same values every time
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::size_t float_count(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0)) / sizeof(float);
}

void report_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

/// The fastest reading of memory that plain code gets: four running sums of the widest vectors, and
/// what is a page ahead asked for.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
std::uint64_t
sum_words(std::span<const std::byte> bytes) {
  using Words = std::uint64_t __attribute__((vector_size(64)));
  Words sums[4] = {};
  for (std::size_t i = 0; i + sizeof sums <= bytes.size(); i += sizeof sums)
    for (std::size_t k = 0; k < 4; ++k) {
      __builtin_prefetch(bytes.data() + i + k * sizeof(Words) + 4096);
      Words words;
      std::memcpy(&words, bytes.data() + i + k * sizeof words, sizeof words);
      sums[k] += words;
    }
  const Words all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 8; ++i) sum += all[i];
  return sum;
}

/// What one writes without this library; its variance is none for values far from zero.
struct PlainStatistics {
  double min = std::numeric_limits<double>::infinity();
  double max = -min;
  double abs_min = min;
  double sum = 0;
  double l1 = 0;
  double squares = 0;
  ValueCounts counts;

  void add(float value) {
    const auto x = static_cast<double>(value);
    if (std::isnan(x)) ++counts.nan;
    if (std::isinf(x)) ++(x > 0 ? counts.pos_inf : counts.neg_inf);
    if (x == 0) ++counts.zero;
    min = std::min(min, x);
    max = std::max(max, x);
    abs_min = std::min(abs_min, std::abs(x));
    sum += x;
    l1 += std::abs(x);
    squares += x * x;
  }
};

PlainStatistics plain_statistics(const std::vector<float>& values) {
  PlainStatistics statistics;
  for (const float value : values) statistics.add(value);
  return statistics;
}

void against_a_plain_loop(benchmark::State& state) {
  const auto values = normal_values(float_count(state));
  const TensorView view{std::span(values)};
  Paired().run(
      state,
      [&] {
        return processor_seconds_of([&] { benchmark::DoNotOptimize(compute_statistics(view)); });
      },
      [&] {
        return processor_seconds_of([&] { benchmark::DoNotOptimize(plain_statistics(values)); });
      });
  report_bytes(state, values.size() * sizeof(float));
}

/// Normal values as floats of any size, integers with any bits.
std::vector<std::byte> elements_of(DType dtype, std::size_t bytes) {
  const std::size_t size = element_size(dtype);
  std::vector<std::byte> elements(bytes);
  std::mt19937_64 random(7);  // NOLINT(*-msc51-cpp)
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < bytes; i += size) {
    std::uint64_t bits = random();
    if (dtype == DType::Bool) bits %= 2;
    if (is_floating(dtype)) {
      const float value = normal(random);
      bits = std::bit_cast<std::uint32_t>(value);
      if (dtype == DType::F64) bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
      if (dtype == DType::BF16) bits >>= 16U;
      // The exponent's middle moves from 127 to 15; what is too small for a half becomes 0.
      if (dtype == DType::F16)
        bits = (bits >> 16U & 0x8000U) |
               (std::abs(value) < 0x1p-14F ? 0 : (bits >> 13U & 0x3ffffU) - (112U << 10U));
    }
    std::memcpy(elements.data() + i, &bits, size);
  }
  return elements;
}

void against_reading(benchmark::State& state, DType dtype) {
  const auto elements = elements_of(dtype, static_cast<std::size_t>(state.range(0)));
  const TensorView view(elements.data(), dtype, {elements.size() / element_size(dtype)});
  Paired().run(
      state,
      [&] {
        return processor_seconds_of([&] { benchmark::DoNotOptimize(compute_statistics(view)); });
      },
      [&] { return processor_seconds_of([&] { benchmark::DoNotOptimize(sum_words(elements)); }); });
  report_bytes(state, elements.size());
}

void run_statistics(benchmark::State& state, const TensorView& view) {
  for (auto _ : state) benchmark::DoNotOptimize(compute_statistics(view));
  report_bytes(state, static_cast<std::size_t>(view.elements()) * element_size(view.dtype()));
}

void statistics(benchmark::State& state) {
  const auto values = normal_values(float_count(state));
  run_statistics(state, std::span(values));
}

/// Half of the values are zeros, which are counted.
void statistics_of_activations(benchmark::State& state) {
  auto values = normal_values(float_count(state));
  for (float& value : values) value = std::max(value, 0.0F);
  run_statistics(state, std::span(values));
}

/// The mean is fifty deviations away from zero, so blocks are gone over twice.
void statistics_of_offset_values(benchmark::State& state) {
  const auto values = normal_values(float_count(state), 1, 0.02F);
  run_statistics(state, std::span(values));
}

void statistics_of_nans(benchmark::State& state) {
  const std::vector<float> values(float_count(state), std::numeric_limits<float>::quiet_NaN());
  run_statistics(state, std::span(values));
}

/// A transposed matrix: every element is copied on its own.
void statistics_of_a_transpose(benchmark::State& state) {
  const auto values = normal_values(float_count(state));
  const std::size_t rows = 32;
  const std::size_t columns = values.size() / rows;
  run_statistics(state, TensorView(values.data(), DType::F32, {columns, rows}, {1, columns}));
}

/// One reduction that is not among the statistics; those are known beforehand.
template <class T>
void run_reduction(benchmark::State& state, const std::vector<T>& values, Reduction reduction) {
  const TensorView view{std::span(values)};
  const Statistics known = compute_statistics(view);
  ReductionSet wanted;
  wanted.add(reduction);
  for (auto _ : state) benchmark::DoNotOptimize(compute_reductions(view, wanted, &known));
  report_bytes(state, values.size() * sizeof(T));
  state.counters["elements"] = benchmark::Counter(static_cast<double>(values.size()),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void product(benchmark::State& state) {
  run_reduction(state, normal_values(float_count(state)), {ReductionOp::Prod});
}
void product_of_doubles(benchmark::State& state) {
  const auto floats = normal_values(static_cast<std::size_t>(state.range(0)) / sizeof(double));
  run_reduction(state, std::vector<double>(floats.begin(), floats.end()), {ReductionOp::Prod});
}
void median_of_normal_values(benchmark::State& state) {
  run_reduction(state, normal_values(float_count(state)), {ReductionOp::Median});
}
void abs_median_of_normal_values(benchmark::State& state) {
  run_reduction(state, normal_values(float_count(state)), {ReductionOp::Median, true});
}
void median_of_activations(benchmark::State& state) {
  auto values = normal_values(float_count(state));
  for (float& value : values) value = std::max(value, 0.0F);
  run_reduction(state, values, {ReductionOp::Median});
}
void median_of_sorted_values(benchmark::State& state) {
  auto values = normal_values(float_count(state));
  std::ranges::sort(values);
  run_reduction(state, values, {ReductionOp::Median});
}
void median_by_nth_element(benchmark::State& state) {
  const auto values = normal_values(float_count(state));
  for (auto _ : state) {
    auto copy = values;
    const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
    std::ranges::nth_element(copy, middle);
    benchmark::DoNotOptimize(*middle);
  }
  report_bytes(state, values.size() * sizeof(float));
}

constexpr std::int64_t kBeyondCaches = 64 << 20;

BENCHMARK(against_a_plain_loop)->Arg(kBeyondCaches)->UseManualTime()->Iterations(25);
#define CUPEL_AGAINST_READING(name, dtype)        \
  BENCHMARK_CAPTURE(against_reading, name, dtype) \
      ->Arg(kBeyondCaches)                        \
      ->Arg(256 << 10)                            \
      ->UseManualTime()                           \
      ->Iterations(60)
CUPEL_AGAINST_READING(f32, DType::F32);
CUPEL_AGAINST_READING(f64, DType::F64);
CUPEL_AGAINST_READING(f16, DType::F16);
CUPEL_AGAINST_READING(bf16, DType::BF16);
CUPEL_AGAINST_READING(i8, DType::I8);
CUPEL_AGAINST_READING(i16, DType::I16);
CUPEL_AGAINST_READING(i32, DType::I32);
CUPEL_AGAINST_READING(i64, DType::I64);
CUPEL_AGAINST_READING(u8, DType::U8);
CUPEL_AGAINST_READING(u16, DType::U16);
CUPEL_AGAINST_READING(u32, DType::U32);
CUPEL_AGAINST_READING(u64, DType::U64);
CUPEL_AGAINST_READING(bool, DType::Bool);
#undef CUPEL_AGAINST_READING

#define CUPEL_SIZES Arg(kBeyondCaches)->Arg(256 << 10)->Arg(4 << 10)
BENCHMARK(statistics)->CUPEL_SIZES;
BENCHMARK(statistics_of_activations)->CUPEL_SIZES;
BENCHMARK(statistics_of_offset_values)->CUPEL_SIZES;
BENCHMARK(statistics_of_nans)->CUPEL_SIZES;
BENCHMARK(statistics_of_a_transpose)->CUPEL_SIZES;
BENCHMARK(product)->CUPEL_SIZES;
BENCHMARK(product_of_doubles)->CUPEL_SIZES;
BENCHMARK(median_of_normal_values)->CUPEL_SIZES;
BENCHMARK(abs_median_of_normal_values)->CUPEL_SIZES;
BENCHMARK(median_of_activations)->CUPEL_SIZES;
BENCHMARK(median_of_sorted_values)->CUPEL_SIZES;
BENCHMARK(median_by_nth_element)->CUPEL_SIZES;
#undef CUPEL_SIZES

}  // namespace
}  // namespace cupel
