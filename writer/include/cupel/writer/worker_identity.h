#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel {

/// The place of this process among the workers of a run.
struct WorkerIdentity {
  std::string name;
  std::int64_t count = 1;
};

/// Returns the place that a Hook takes which is given this name and this number of workers.
///
/// What is given wins: a name that is not empty, a count that is not 0. Neither is checked here.
/// Else the name is worker_<n> by the first that is set of RANK, OMPI_COMM_WORLD_RANK and
/// SLURM_PROCID, or worker_0; the count is what the same launcher has in WORLD_SIZE,
/// OMPI_COMM_WORLD_SIZE or SLURM_NTASKS, or, where it has none, the first of these that is set,
/// or 1. A variable that is set to nothing counts as unset.
///
/// Throws UsageError that names variable and value for what cannot be understood, and for a rank
/// that is not below the count. Reads the environment and keeps nothing; any thread, as long as
/// nobody changes the environment.
WorkerIdentity worker_identity(std::string_view given_name = {}, std::int64_t given_count = 0);

}  // namespace cupel
