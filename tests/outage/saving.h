#pragma once

#include <cstdint>

namespace cupel::outage {

// What the trainer saves is in crash/saved_values.h; this is when.
inline constexpr std::int64_t kInterval = 8;

}  // namespace cupel::outage
