#include "status_news.h"

namespace cupel {

std::function<void(RunStatus)> status_news(Printer err, bool ends) {
  return [err, ends](RunStatus status) {
    err << "cupel watch: ";
    if (status != RunStatus::Interrupted) {
      err << "a process writes the run again";
    } else {
      err << "the run is interrupted: it has not ended, and no process writes it any more";
      if (!ends) err << "; waiting for one that goes on (--until-writer-gone ends the watch here)";
    }
    err << std::endl;
  };
}

void warn_of_unseen_writers(const Trial& trial, Printer err) {
  if (!trial.looks_cost()) return;
  err << "cupel watch: warning: whether a process writes this run cannot be seen from here, so "
         "that "
         "--until-writer-gone has no effect; --idle-timeout ends the watch"
      << std::endl;
}

}  // namespace cupel
