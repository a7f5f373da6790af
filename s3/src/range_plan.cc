#include "range_plan.h"

#include <algorithm>
#include <limits>

namespace cupel::s3_detail {
namespace {

std::uint64_t end_of(const Fetch& fetch) noexcept { return fetch.offset + fetch.size; }

void append(Fetch& fetch, Piece piece) {
  fetch.pieces.push_back(piece);
  fetch.size += piece.size;
}

}  // namespace

std::vector<Fetch> plan_fetches(std::span<const Store::Range> ranges, std::uint64_t gap,
                                std::uint64_t most) {
  std::vector<const Store::Range*> sorted;
  for (const Store::Range& range : ranges)
    if (!range.out.empty()) sorted.push_back(&range);
  std::ranges::sort(sorted, {}, &Store::Range::offset);

  std::vector<Fetch> fetches;
  for (const Store::Range* range : sorted) {
    std::uint64_t done = 0;
    while (done < range->out.size()) {
      const std::uint64_t offset = range->offset + done;
      const bool follows = !fetches.empty() && offset >= end_of(fetches.back()) &&
                           offset - end_of(fetches.back()) <= gap;
      const std::uint64_t between = follows ? offset - end_of(fetches.back()) : 0;
      const bool joins = follows && fetches.back().size + between < most;
      if (!joins) fetches.push_back({offset, 0, {}, 0});
      Fetch& fetch = fetches.back();
      if (joins && between > 0) append(fetch, {nullptr, between});
      const std::uint64_t size = std::min(range->out.size() - done, most - fetch.size);
      append(fetch, {range->out.data() + done, size});
      done += size;
    }
  }
  return fetches;
}

void spread_results(std::span<const Fetch> fetches, std::span<Store::Range> ranges) {
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  for (const Fetch& fetch : fetches)
    if (fetch.got < fetch.size) end = std::min(end, fetch.offset + fetch.got);
  for (Store::Range& range : ranges) {
    const std::uint64_t there = end > range.offset ? end - range.offset : 0;
    range.got = static_cast<std::size_t>(std::min<std::uint64_t>(there, range.out.size()));
  }
}

}  // namespace cupel::s3_detail
