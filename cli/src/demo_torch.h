#pragma once

#include <cstdint>
#include <string>

#include "demo_training.h"

namespace cupel::demo {

/// Returns the path of the program cupel-demo-torch in the directory of this program.
std::string torch_program_beside_this();

/// Three convolution networks that libtorch trains on drawn digits: one well, one with gradients
/// that vanish, one that explodes. Each is trained by a child process of the program at the path
/// `program`, so that this process never loads libtorch. Throws Error if there is no such program.
Programme torch_programme(const std::string& program, std::uint64_t seed);

}  // namespace cupel::demo
