#include "step_sink.h"

#include <cstdint>
#include <string>
#include <utility>

#include "cupel/core/log.h"
#include "cupel/core/printable.h"
#include "step_clock.h"

namespace cupel::writer_detail {

OnlyWatching::OnlyWatching(std::shared_ptr<Store> store) {
  if (store == nullptr) return;
  stop_watch_.emplace(std::move(store));
  stop_watch_->begin();
}

bool OnlyWatching::sees_stop_request(Clock::time_point now) {
  if (!stop_watch_) return false;
  stop_watch_->look(now);
  return stop_watch_->is_requested();
}

void DryRun::save(NamedTensor& tensor, const TensorView&, const SaveDecision&) {
  // A value that would wait belongs to the next step.
  const std::int64_t step = clock_.counters().global + (clock_.is_open() ? 0 : 1);
  log(LogLevel::Debug,
      "dry run: step " + std::to_string(step) + " would save " + printable(tensor.name));
}

}  // namespace cupel::writer_detail
