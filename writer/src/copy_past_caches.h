#pragma once

#include <cstddef>

namespace cupel::writer_detail {

// Copies bytes that the calling thread will not look at again, as memcpy() does; nothing may come
// from nowhere. Many of them go past the caches, where the machine can do that: the caches keep
// what the training works with, and memory that another processor has read last need not be fetched
// from there to be overwritten.
void copy_past_caches(std::byte* out, const std::byte* in, std::size_t size) noexcept;

}  // namespace cupel::writer_detail
