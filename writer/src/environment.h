#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::writer_detail {

/// What the environment has about saving and about this process's place among the workers.
///
/// A variable that is set to nothing counts as unset. What cannot be understood is UsageError that
/// names variable and value. The functions read the environment and keep nothing; any thread, as
/// long as nobody changes the environment.

/// Whether hooks are to save at all: USE_SMDEBUG, which is `y yes t true on 1` or `n no f false off
/// 0` in any case. Unset: true.
bool saving_enabled();

/// Who this process is among the workers of a run.
struct WorkerIdentity {
  std::string name;
  std::int64_t count = 1;
};

/// What is given wins: a name that is not empty, a count that is not 0. Neither is checked here.
///
/// Else the name is worker_<n> by the first that is set of RANK, OMPI_COMM_WORLD_RANK and
/// SLURM_PROCID, or worker_0; the count is what the same launcher has in WORLD_SIZE,
/// OMPI_COMM_WORLD_SIZE or SLURM_NTASKS, or, where it has none, the first of these that is set,
/// or 1. A rank that is not below the count is refused.
WorkerIdentity worker_identity(std::string_view given_name = {}, std::int64_t given_count = 0);

}  // namespace cupel::writer_detail
