#include "cupel/delivery/end_of_run.h"

#include "cupel/format/layout.h"

namespace cupel {

void write_end(Store& run, std::string_view worker, std::int64_t num_workers) {
  if (num_workers > 1) {
    run.put(ended_key(worker), {}, Durability::Cached);
    if (static_cast<std::int64_t>(run.list(kEndedPrefix).size()) < num_workers) return;
  }
  run.put(kEndMarker, {}, Durability::Cached);
}

void remove_end(Store& run, std::string_view worker, std::int64_t num_workers) {
  run.remove(kEndMarker);
  if (num_workers > 1) run.remove(ended_key(worker));
}

bool has_end(const Store& run, std::string_view worker) {
  return run.stat(kEndMarker) || run.stat(ended_key(worker));
}

}  // namespace cupel
