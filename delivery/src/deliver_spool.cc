#include "cupel/delivery/deliver_spool.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"
#include "cupel/store/open_store.h"

namespace cupel {
namespace {

using Clock = RunDelivery::Clock;

// A hook writes the collections file before anything else; without it nobody can read the rest.
void check_content(const Spool& spool) {
  const std::string key = collections_key(spool.destination().worker);
  const LocalStore& run = spool.run();
  const auto is_segment = [](const ObjectInfo& info) { return segment_of(info.key).has_value(); };
  if (!run.stat(key) && !(spool.is_empty() && std::ranges::none_of(run.list(""), is_segment)))
    throw FormatError(spool.directory() + "/" + key, 0, "the file is missing");
}

// Decides how long a delivery waits for uploads.
class Patience {
 public:
  Patience(const RunDelivery& delivery, const DeliverOptions& options)
      : delivery_(delivery), options_(options) {}

  bool goes_on() {
    const UploadProgress now = delivery_.progress();
    // A large object takes long on a slow line: while nothing fails, it is under way.
    if (now.bytes_uploaded != uploaded_ || now.trouble.empty()) news_ = Clock::now();
    uploaded_ = now.bytes_uploaded;
    if (options_.progress) options_.progress(uploaded_, uploaded_ + now.bytes_waiting);
    stopped_ = options_.stop.stop_requested();
    return !stopped_ && now.refusal.empty() && Clock::now() - news_ < options_.patience;
  }
  bool stopped() const noexcept { return stopped_; }

 private:
  const RunDelivery& delivery_;
  const DeliverOptions& options_;
  std::uint64_t uploaded_ = 0;
  Clock::time_point news_ = Clock::now();
  bool stopped_ = false;
};

}  // namespace

DeliverReport deliver_spool(const std::string& directory, const DeliverOptions& options) {
  const auto destination = Spool::destination_of(directory);
  if (!destination) throw UsageError("not a spool: " + directory);
  Spool spool(directory, *destination);
  check_content(spool);
  RunDeliveryOptions how;
  how.interrupts_remote = true;
  how.stays = options.stays.empty() ? spool.directory() : options.stays;
  how.upload = options.upload;
  const std::shared_ptr<Store> remote = open_store(destination->url, options.schemes);
  // Without this check, the author of an address could have files of this machine replaced.
  if (remote->can_append())
    throw FormatError(directory + "/spool.json", 0,
                      "what it names needs no spool: " + destination->url);
  RunDelivery delivery(remote, std::move(spool), std::move(how));
  Patience patience(delivery, options);
  const auto goes_on = [&patience] { return patience.goes_on(); };
  std::string no_room;
  try {
    delivery.begin(goes_on);
  } catch (const StoreFull& full) {
    no_room = full.what();
  }
  DeliverReport report;
  report.destination = *destination;
  report.ended = delivery.has_ended();
  report.foreign = delivery.foreign_files();
  report.left = delivery.deliver(Clock::time_point::max(), goes_on);
  if (!no_room.empty() && report.left.why.empty()) report.left.why = no_room;
  report.stopped = patience.stopped();
  const UploadProgress uploaded = delivery.progress();
  report.segments_uploaded = uploaded.segments_uploaded;
  report.bytes_uploaded = uploaded.bytes_uploaded;
  report.sealing = delivery.sealing();
  report.problems = delivery.problems();
  return report;
}

}  // namespace cupel
