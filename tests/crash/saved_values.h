#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel::crash {

// What the trainer that gets killed and the oracle that looks at its run afterwards both know.

// Where the trainer is; lives in memory that both processes map.
enum class Phase : int { Outside, Saving, NextStep, Closing };
struct Whereabouts {
  std::atomic<Phase> phase{Phase::Outside};
  std::atomic<bool> sealing{false};
  std::atomic<bool> between_index_and_values{false};  // only with the order reversed
  std::atomic<std::int64_t> step{-1};
};
static_assert(std::atomic<Phase>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

inline constexpr std::int64_t kSteps = 60;
inline constexpr std::int64_t kClosed = -2;  // acknowledged through the pipe after close()

struct SavedTensor {
  const char* name;
  std::size_t elements;
};
// Inline, small, several to a chunk, larger than a chunk (64 KiB with 1 MiB of buffers).
inline const std::vector<SavedTensor>& saved_tensors() {
  static const std::vector<SavedTensor> tensors = {{"a.weight", 8},
                                                   {"b.weight", 300},
                                                   {"c.weight", 9000},
                                                   {"d.weight", 9000},
                                                   {"e.weight", 40000}};
  return tensors;
}

// Every value follows from its place, so that the oracle can tell a wrong one.
inline std::vector<float> value_of(const SavedTensor& tensor, std::int64_t step) {
  std::vector<float> values(tensor.elements);
  std::uint64_t state = static_cast<std::uint64_t>(step) * 0x9e3779b97f4a7c15ULL +
                        static_cast<std::uint64_t>(tensor.name[0]);
  for (float& value : values) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<float>(state >> 40U) / static_cast<float>(1U << 24U);
  }
  return values;
}

}  // namespace cupel::crash
