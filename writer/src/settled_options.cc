#include "settled_options.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "cupel/core/error.h"
#include "cupel/core/pattern.h"
#include "cupel/format/layout.h"
#include "cupel/writer/worker_identity.h"
#include "option_limits.h"

namespace cupel::writer_detail {
namespace {

constexpr std::uint64_t kLeastBufferBytes = 1U << 20U;
constexpr auto kForEver = std::chrono::hours(24 * 365);  // longer waits overflow clocks

void check_options(const HookOptions& options) {
  const auto demand = [](bool holds, const std::string& otherwise) {
    if (!holds) throw UsageError(otherwise);
  };
  options.save_config.validate();
  if (options.reduction_config) static_cast<void>(options.reduction_config->set());
  check_worker_name(options.worker);
  demand(options.include_workers == "one" || options.include_workers == "all",
         "include_workers is \"one\" or \"all\": \"" + options.include_workers + '"');
  demand(options.buffer_bytes >= kLeastBufferBytes,
         "buffer_bytes is at least 1 MiB: " + std::to_string(options.buffer_bytes));
  demand(options.segment_bytes >= 1, "segment_bytes is at least 1");
  demand(!options.segment_age || options.segment_age->count() >= 1, "segment_age is at least 1 ms");
  demand(options.spool_bytes >= std::uint64_t{kLeastSpoolBytes},
         "spool_bytes is at least 1 MiB: " + std::to_string(options.spool_bytes));
  demand(options.upload_parallelism >= 1 && options.upload_parallelism <= kMostUploads,
         "upload_parallelism is 1 to 64: " + std::to_string(options.upload_parallelism));
  demand(options.close_timeout.count() >= 0, "close_timeout is not negative");
  demand(options.commit_timeout.count() >= 0, "commit_timeout is not negative");
  if (const auto budget = options.overhead_budget)
    demand(*budget > 0 && *budget < 1,
           "overhead_budget is a share, above 0 and below 1: " + std::to_string(*budget));
  for (const std::string& pattern : options.include_regex) static_cast<void>(Pattern(pattern));
  for (const std::string& name : options.include_collections)
    demand(!name.empty(), "include_collections has an empty name");
}

}  // namespace

HookOptions settled_options(HookOptions options) {
  if (const auto workers = options.num_workers; workers && *workers < 1)
    throw UsageError("num_workers is at least 1: " + std::to_string(*workers));
  const WorkerIdentity identity = worker_identity(options.worker, options.num_workers.value_or(0));
  options.worker = identity.name;
  options.num_workers = identity.count;
  check_options(options);
  options.commit_timeout = std::min<std::chrono::milliseconds>(options.commit_timeout, kForEver);
  options.close_timeout = std::min<std::chrono::milliseconds>(options.close_timeout, kForEver);
  if (options.segment_age)
    options.segment_age = std::min<std::chrono::milliseconds>(*options.segment_age, kForEver);
  return options;
}

}  // namespace cupel::writer_detail
