// Events files: any bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "cupel/core/error.h"
#include "cupel/format/events_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cupel;
  EventsReader reader(SegmentName{0, 0, "worker_0"}, size,
                      [&](std::uint64_t offset, std::span<std::byte> out) {
                        const auto at = static_cast<std::size_t>(offset);
                        const std::size_t got = std::min(out.size(), size - std::min(at, size));
                        if (got > 0) std::memcpy(out.data(), data + at, got);
                        return got;
                      });
  std::size_t seen = 0;
  try {
    reader.walk([&](std::span<const EventsEntry> batch) {
      for (const EventsEntry& value : batch) {
        if (value.offset > size || value.length > size - value.offset) __builtin_trap();
        seen += value.tensor.size() + static_cast<std::size_t>(value.tensor.find('\0') == 0);
      }
    });
  } catch (const FormatError&) {
  }
  if (seen == SIZE_MAX) __builtin_trap();  // keeps the reads
  return 0;
}
