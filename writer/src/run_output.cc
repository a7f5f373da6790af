// The store of a hook's run. A store that can append is written to as it is. In front of any other
// there is a spool: an ordinary run in a local directory, from which finished segments are uploaded
// by threads of the spool's own, so that a step waits for the local disk only. A full spool costs
// the steps that it has no room for; what is not uploaded at close() stays in the spool, and the
// report of the hook names the command that uploads it.

#include "run_output.h"

#include <algorithm>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/format_limits.h"
#include "cupel/store/local_store.h"
#include "cupel/store/open_store.h"
#include "note_text.h"
#include "resume_point.h"

namespace cupel::writer_detail {
namespace {

constexpr std::uint64_t kSegmentsInSpool = 4;  // that it has room for, at least
constexpr int kSegmentsBehind = 3;             // that could have been sealed meanwhile
constexpr auto kSegmentAge = std::chrono::seconds(60);
constexpr auto kSegmentAgeInSpool = std::chrono::seconds(10);

std::int64_t whole_seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

std::shared_ptr<Store> open_store_of_run(const HookOptions& options) {
  if (options.out_dir.empty()) throw OutDirError("out_dir is not set");
  const std::string place = expand_out_dir(options.out_dir);
  if (options.s3_sync == S3Sync::Off && place.find("://") != std::string::npos) {
    return std::make_shared<LocalStore>(
        Spool::directory_of(options.spool_dir, {place, options.worker}));
  }
  return open_store(place, options.schemes);
}

RunOutput::RunOutput(const HookOptions& options, std::shared_ptr<Store> into)
    : options_(options), store_(std::move(into)) {
  const bool owns_store = store_ == nullptr;
  if (owns_store) store_ = open_store_of_run(options);
  const auto* const local = dynamic_cast<const LocalStore*>(store_.get());
  const std::string directory = owns_store && local != nullptr ? local->location() : "";
  stop_watch_.emplace(store_);
  if (!store_->can_append()) open_delivery(owns_store);
  SegmentEvents* const events = delivery_ ? &*delivery_ : nullptr;
  files_.emplace(RunFiles::Stores{run_at_start(), store(), events}, directory, options);
  stop_watch_->begin(run_at_start());
  // A run is not written without its beginning.
  if (auto* const folder = dynamic_cast<LocalStore*>(store_.get())) folder->hold_directory();
}

RunOutput::~RunOutput() = default;

void RunOutput::open_delivery(bool owns_store) {
  const Spool::Destination destination{store_->location(), options_.worker};
  RunDeliveryOptions how;
  how.spool_bytes = options_.spool_bytes;
  how.replaces_run = options_.existing == Existing::Replace;
  how.interrupts_remote = owns_store;
  how.upload.parallelism = options_.upload_parallelism;
  delivery_.emplace(store_,
                    Spool(Spool::directory_of(options_.spool_dir, destination), destination),
                    std::move(how));
}

Store& RunOutput::run_at_start() { return delivery_ ? delivery_->run_at_start() : *store_; }

StepCounters RunOutput::last_steps() {
  return writer_detail::last_steps(run_at_start(), options_.worker);
}

std::int64_t RunOutput::last_saved_step() {
  return writer_detail::last_saved_step(run_at_start(), options_.worker);
}

void RunOutput::begin() {
  if (delivery_) delivery_->begin();
}

std::chrono::milliseconds RunOutput::segment_age() const {
  return options_.segment_age.value_or(delivery_ ? kSegmentAgeInSpool : kSegmentAge);
}

SegmentPolicy RunOutput::segment_policy(const ReductionSet& columns,
                                        std::uint32_t collections_crc32c) {
  SegmentPolicy policy{files_->run(), files_->worker(),       files_->attempt(), collections_crc32c,
                       columns,       options_.segment_bytes, segment_age(),     options_.sync};
  if (delivery_) {
    policy.segment_bytes = std::min(policy.segment_bytes, options_.spool_bytes / kSegmentsInSpool);
    policy.events = &*delivery_;
    policy.spool = &delivery_->run();
  }
  return policy;
}

std::uint32_t RunOutput::write_collections(const TensorGroups& groups,
                                           const StepCounters& at_close) {
  const FormatLimits& limits = format_limits();
  const auto file_with = [&](std::uint64_t joined_names) {
    Collections now = groups.configured();
    const std::int64_t left_out = groups.add_joined(now, joined_names);
    return files_->collections_file(now, at_close, left_out);
  };
  std::vector<std::byte> file;
  bool has_joined = false;
  try {
    file = file_with(limits.joined_names);
    has_joined = file.size() <= limits.written_collections_file;
  } catch (const UsageError& error) {
    log(LogLevel::Debug, error.what());  // of the configuration it is thrown below
  }
  if (!has_joined) file = file_with(0);
  if (file.size() > limits.written_collections_file) {
    throw UsageError("the configured collections, with their patterns and names, take " +
                     std::to_string(file.size()) +
                     " bytes, and readers of a run open a collections file of at most " +
                     std::to_string(limits.written_collections_file));
  }
  files_->write_collections(
      file, options_.sync == Sync::Off ? Durability::Cached : Durability::Durable, is_closing_);
  return crc32c(file);
}

template <class Write>
bool RunOutput::fits(Write&& write) {
  try {
    write();
  } catch (const StoreFull&) {
    if (!delivery_) throw;
    return false;
  }
  return true;
}

bool RunOutput::write_last_collections(const TensorGroups& groups, const StepCounters& at_close) {
  return fits([&] { write_collections(groups, at_close); });
}

bool RunOutput::write_end() {
  return fits([&] { files_->write_end(); });
}

void RunOutput::take_back_end() { files_->take_back_end(); }

std::optional<std::string> RunOutput::news_of_uploads(std::int64_t step) {
  if (!delivery_) return std::nullopt;
  const auto now = Clock::now();
  const auto since = delivery_->waiting_since();
  const auto waited = since ? now - *since : Clock::duration::zero();
  const auto age = segment_age();
  if (!behind_since_ && waited > kSegmentsBehind * age) {
    behind_since_ = *since;
    const UploadProgress progress = delivery_->progress();
    return note_text({{"kind", "uploads_behind"},
                      {"step", step},
                      {"seconds", whole_seconds(waited)},
                      {"segments", progress.segments_waiting},
                      {"bytes", progress.bytes_waiting},
                      {"why", progress.trouble.empty() ? "the store is slow" : progress.trouble}});
  }
  if (behind_since_ && waited <= age) {
    return note_text({{"kind", "uploads_recovered"},
                      {"step", step},
                      {"seconds", whole_seconds(now - *std::exchange(behind_since_, {}))}});
  }
  return std::nullopt;
}

void RunOutput::stop_waiting_at(Clock::time_point until) {
  is_closing_ = true;
  if (delivery_) delivery_->stop_waiting_at(until);
}

Delivery RunOutput::deliver(Clock::time_point until) noexcept {
  Delivery delivery;
  if (!delivery_) return delivery;
  try {
    NotUploaded left = delivery_->deliver(until);
    const std::string refusal = delivery_->progress().refusal;
    if (left.why == refusal) left.why.clear();  // that is reported anyway
    delivery.problems = delivery_->problems();
    if (!refusal.empty())
      delivery.problems.push_back("the store refused what was uploaded: " + refusal);
    add_not_uploaded(left, delivery);
  } catch (const std::exception& error) {
    add_failure(error.what(), delivery);
  }
  return delivery;
}

void RunOutput::add_failure(const char* why, Delivery& delivery) noexcept {
  try {
    std::string what = "not everything may be uploaded to " + store_->location() + " (" + why +
                       "); \"cupel sync " + delivery_->run().location() + "\" does it";
    log(LogLevel::Error, what);
    delivery.problems.push_back(std::move(what));
  } catch (const std::exception&) {  // there is no memory for the text
    log(LogLevel::Error, why);
  }
}

void RunOutput::add_not_uploaded(const NotUploaded& left, Delivery& delivery) const {
  if (left.directory.empty()) return;
  delivery.steps_left = left.steps;
  delivery.bytes_left = left.bytes;
  std::string what = std::to_string(left.steps) + " steps, " + std::to_string(left.bytes) +
                     " bytes" + (left.end ? " and the end of the run" : "");
  what += " are not uploaded to " + store_->location();
  if (!left.why.empty()) what += " (" + left.why + ")";
  what += "; \"cupel sync " + left.directory + "\" does it";
  log(LogLevel::Warning, what);
  delivery.problems.push_back(std::move(what));
}

void RunOutput::halt() noexcept {
  if (delivery_) delivery_->halt();
}

}  // namespace cupel::writer_detail
