#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cupel/store/store.h"
#include "s3_client.h"

namespace cupel::s3 {

/// One ranged GET, and where its bytes go. `got` is for who carries it out.
struct Fetch {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::vector<Piece> pieces;
  std::uint64_t got = 0;
};

/// Which GETs read the ranges: neighbours with at most `gap` between them become one, and what is
/// larger than `most` is cut. Empty ranges need none; ranges that overlap are not joined.
std::vector<Fetch> plan_fetches(std::span<const Store::Range> ranges, std::uint64_t gap,
                                std::uint64_t most);

/// Sets how much of each range there was. An object ends where a fetch got less than it asked for.
void spread_results(std::span<const Fetch> fetches, std::span<Store::Range> ranges);

}  // namespace cupel::s3
