#pragma once

#include <cstdint>

#include "demo_training.h"

namespace cupel::demo {

/// Three small networks that are trained in this process, by plain loops, to tell spiral arms
/// apart: one well, one with gradients that vanish, one that explodes. Everything random follows
/// from the seed.
Programme spiral_programme(std::uint64_t seed);

}  // namespace cupel::demo
