#include "status_news.h"

#include "cupel/trial/run_follower.h"

namespace cupel::command_detail {

std::function<void(RunStatus)> status_news(const CommandContext& context, bool ends) {
  return [context, ends](RunStatus status) {
    const Printer err = context.message();
    if (status != RunStatus::Interrupted) {
      err << "a process writes the run again";
    } else {
      err << "the run is interrupted: it has not ended, and no process writes it any more";
      if (!ends) err << "; waiting for one that goes on (--until-writer-gone ends the watch here)";
    }
    err << std::endl;
  };
}

void warn_of_unseen_writers(const Trial& trial, const CommandContext& context) {
  if (!RunFollower(trial).requests_cost()) return;
  context.message() << "warning: whether a process writes this run cannot be seen from here, so "
                       "that --until-writer-gone has no effect; --idle-timeout ends the watch"
                    << std::endl;
}

}  // namespace cupel::command_detail
