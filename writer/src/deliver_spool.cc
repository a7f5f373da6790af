#include "cupel/writer/deliver_spool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"

namespace cupel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(50);

// What a hook writes into its spool begins with the collections file, without which nobody can read
// the rest.
void check_content(const Spool& spool) {
  const std::string key = collections_key(spool.destination().worker);
  const LocalStore& run = spool.run();
  const auto is_segment = [](const ObjectInfo& info) { return segment_of(info.key).has_value(); };
  if (!run.stat(key) && !(spool.is_empty() && std::ranges::none_of(run.list(""), is_segment)))
    throw FormatError(spool.directory() + "/" + key, 0, "the file is missing");
}

// Tells, as long as something is uploaded, whether there is use in waiting for more.
class Patience {
 public:
  Patience(const SpooledStore& spool, const DeliverOptions& options)
      : spool_(spool), options_(options) {}

  bool goes_on() {
    const UploadProgress now = spool_.progress();
    // A large object on a slow line takes its time: as long as nothing fails, it is under way.
    if (now.bytes_uploaded != uploaded_ || now.trouble.empty()) news_ = Clock::now();
    uploaded_ = now.bytes_uploaded;
    if (options_.progress) options_.progress(uploaded_, uploaded_ + now.bytes_waiting);
    stopped_ = options_.stop.stop_requested();
    return !stopped_ && now.refusal.empty() && Clock::now() - news_ < options_.patience;
  }
  bool stopped() const noexcept { return stopped_; }

 private:
  const SpooledStore& spool_;
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
  SpoolOptions spool_options;
  spool_options.interrupts_remote = true;
  spool_options.stays = options.stays.empty() ? spool.directory() : options.stays;
  spool_options.upload = options.upload;
  const std::shared_ptr<Store> remote = options.open(destination->url);
  // Else whoever may write an address could have files of this machine replaced.
  if (remote->can_append())
    throw FormatError(directory + "/spool.json", 0,
                      "what it names needs no spool: " + destination->url);
  SpooledStore store(remote, std::move(spool), std::move(spool_options), false);
  Patience patience(store, options);
  std::string no_room;
  try {
    store.begin([&] { return patience.goes_on(); });
  } catch (const StoreFull& full) {
    no_room = full.what();
  }
  store.finish();
  while (!store.wait_until_uploaded(Clock::now() + kLook) && patience.goes_on()) {
  }
  const UploadProgress uploaded = store.progress();
  DeliverReport report;
  report.destination = *destination;
  report.stopped = patience.stopped();
  report.ended = store.has_end();
  report.foreign = store.foreign_files();
  report.left = store.close();
  if (!no_room.empty() && report.left.why.empty()) report.left.why = no_room;
  report.segments_uploaded = uploaded.segments_uploaded;
  report.bytes_uploaded = uploaded.bytes_uploaded;
  report.sealing = store.sealing();
  report.problems = store.problems();
  return report;
}

}  // namespace cupel
