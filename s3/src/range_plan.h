#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cupel/store/store.h"
#include "s3_client.h"

namespace cupel::s3_detail {

/// One ranged GET, and where its bytes go. The function that sends the request sets `got`.
struct Fetch {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::vector<Piece> pieces;
  std::uint64_t got = 0;
};

/// Returns the GETs that read the ranges: ranges with at most `gap` between them become one GET,
/// and a GET of more than `most` bytes is cut. Empty ranges need no GET; overlapping ones are not
/// joined.
std::vector<Fetch> plan_fetches(std::span<const Store::Range> ranges, std::uint64_t gap,
                                std::uint64_t most);

/// Sets the number of bytes that each range got. The object ends where a GET got less than it asked
/// for.
void spread_results(std::span<const Fetch> fetches, std::span<Store::Range> ranges);

}  // namespace cupel::s3_detail
