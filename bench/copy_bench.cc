// TensorView::copy_to() of values that do not lie row by row, against that of as many that do,
// in processor time. 64 MiB lie beyond the caches, 1 MiB in the second one.
//
//   copy_bench

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cupel/core/aligned_buffer.h"
#include "cupel/core/tensor_view.h"
#include "paired.h"

namespace cupel {
namespace {

constexpr std::int64_t kBeyondCaches = 64 << 20;

/// A layout of so many bytes.
using Layout = TensorView (*)(const std::byte* data, DType dtype, std::int64_t elements);

TensorView transposed(const std::byte* data, DType dtype, std::int64_t elements) {
  std::int64_t rows = 1;
  while (rows * rows < elements) rows *= 2;
  return {data, dtype, {rows, elements / rows}, {1, rows}};
}

/// No extent is a power of two.
TensorView transposed_odd(const std::byte* data, DType dtype, std::int64_t elements) {
  std::int64_t rows = 1;
  while ((rows + 1) * (rows + 1) <= elements) ++rows;
  if (rows % 2 == 0) --rows;
  return {data, dtype, {rows, rows}, {1, rows}};
}

/// Images of 28 × 28 pixels that lie channels last, in the order channels first.
template <int kChannels>
TensorView channels_last(const std::byte* data, DType dtype, std::int64_t elements) {
  constexpr std::int64_t kSide = 28, kImage = kSide * kSide * kChannels;
  return {data,
          dtype,
          {elements / kImage, kChannels, kSide, kSide},
          {kImage, 1, kSide * kChannels, kChannels}};
}

/// The other way round.
template <int kChannels>
TensorView channels_first(const std::byte* data, DType dtype, std::int64_t elements) {
  constexpr std::int64_t kSide = 28, kImage = kSide * kSide * kChannels;
  return {
      data, dtype, {elements / kImage, kSide, kSide, kChannels}, {kImage, kSide, 1, kSide * kSide}};
}

void against_contiguous(benchmark::State& state, Layout layout, DType dtype) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  AlignedBuffer values(bytes);
  AlignedBuffer copy(bytes);
  std::memset(values.data(), 1, bytes);
  std::memset(copy.data(), 2, bytes);
  const TensorView view =
      layout(values.data(), dtype, static_cast<std::int64_t>(bytes / element_size(dtype)));
  const TensorView contiguous(values.data(), dtype, {view.elements()});
  const auto seconds_to_copy = [&copy](const TensorView& from) {
    return processor_seconds_of([&] {
      from.copy_to(copy.data());
      benchmark::ClobberMemory();
    });
  };
  Paired().run(
      state, [&] { return seconds_to_copy(view); }, [&] { return seconds_to_copy(contiguous); });
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

#define CUPEL_AGAINST_CONTIGUOUS(name, layout, dtype)        \
  BENCHMARK_CAPTURE(against_contiguous, name, layout, dtype) \
      ->Arg(kBeyondCaches)                                   \
      ->Arg(1 << 20)                                         \
      ->UseManualTime()                                      \
      ->Iterations(25)
CUPEL_AGAINST_CONTIGUOUS(transposed_f32, transposed, DType::F32);
CUPEL_AGAINST_CONTIGUOUS(transposed_f64, transposed, DType::F64);
CUPEL_AGAINST_CONTIGUOUS(transposed_f16, transposed, DType::F16);
CUPEL_AGAINST_CONTIGUOUS(transposed_u8, transposed, DType::U8);
CUPEL_AGAINST_CONTIGUOUS(transposed_odd_f32, transposed_odd, DType::F32);
CUPEL_AGAINST_CONTIGUOUS(channels_last_64_f32, channels_last<64>, DType::F32);
CUPEL_AGAINST_CONTIGUOUS(channels_first_64_f32, channels_first<64>, DType::F32);
CUPEL_AGAINST_CONTIGUOUS(channels_last_64_f16, channels_last<64>, DType::F16);
CUPEL_AGAINST_CONTIGUOUS(channels_first_64_f16, channels_first<64>, DType::F16);
CUPEL_AGAINST_CONTIGUOUS(channels_last_3_f32, channels_last<3>, DType::F32);
CUPEL_AGAINST_CONTIGUOUS(channels_first_3_f32, channels_first<3>, DType::F32);
CUPEL_AGAINST_CONTIGUOUS(channels_last_3_u8, channels_last<3>, DType::U8);
CUPEL_AGAINST_CONTIGUOUS(channels_first_3_u8, channels_first<3>, DType::U8);

}  // namespace
}  // namespace cupel
