#include "copy_past_caches.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cupel::writer_detail {

#if defined(__SSE2__)

namespace {

// With fewer, whoever reads them next finds them in a cache.
constexpr std::size_t kMany = std::size_t{512} << 10U;
constexpr std::size_t kLine = 64;

}  // namespace

void copy_past_caches(std::byte* out, const std::byte* in, std::size_t size) noexcept {
  if (size < kMany) {
    if (size > 0) std::memcpy(out, in, size);
    return;
  }
  // Lines are written whole.
  const std::size_t begin = (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine;
  const std::size_t end = begin + (size - begin) / kLine * kLine;
  std::memcpy(out, in, begin);
  for (std::size_t at = begin; at < end; at += kLine)
    for (std::size_t part = at; part < at + kLine; part += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + part)));
  _mm_sfence();  // else another thread could be told of bytes that are not there yet
  std::memcpy(out + end, in + end, size - end);
}

#else

void copy_past_caches(std::byte* out, const std::byte* in, std::size_t size) noexcept {
  if (size > 0) std::memcpy(out, in, size);
}

#endif

}  // namespace cupel::writer_detail
