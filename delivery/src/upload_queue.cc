// The order of uploads. Values of several segments are uploaded at the same time. The collections
// file, the index files and the end of the run go one after another: an index file after its values
// and after the collections file that it needs, the end last. So a reader of the remote store finds
// at every moment what a reader of a local run finds.

#include "upload_queue.h"

#include <algorithm>
#include <utility>

namespace cupel::delivery_detail {

void UploadQueue::add(Segment segment) {
  bytes_waiting_ += segment.bytes();
  entries_.push_back({std::move(segment), collections_changed_});
}

void UploadQueue::finish(bool ends) {
  finishing_ = true;
  ends_ = ends;
}

bool UploadQueue::front_is_ready() const noexcept {
  return !entries_.empty() && entries_.front().stage >= Stage::Uploaded;
}

// The first collections file is uploaded at once, so that readers find the run; a later one before
// the first index that needs it.
bool UploadQueue::collections_are_due() const noexcept {
  if (collections_changed_ == collections_uploaded_) return false;
  return collections_uploaded_ == 0 || (entries_.empty() && finishing_) ||
         (front_is_ready() && entries_.front().collections > collections_uploaded_);
}

std::optional<UploadQueue::Job> UploadQueue::next_in_order() {
  if (in_order_under_way_) return std::nullopt;
  if (collections_are_due())
    return Job{.kind = Kind::CollectionsFile, .version = collections_changed_};
  if (front_is_ready())
    return Job{.kind = Kind::Index,
               .segment = entries_.front().segment,
               .is_there = entries_.front().stage == Stage::Found};
  if (entries_.empty() && finishing_ && ends_ && !ended_) return Job{.kind = Kind::End};
  return std::nullopt;
}

std::optional<UploadQueue::Job> UploadQueue::next() {
  if (auto job = next_in_order()) {
    in_order_under_way_ = true;
    return job;
  }
  for (std::size_t i = 0; i < std::min(parallelism_, entries_.size()); ++i) {
    Entry& entry = entries_[i];
    if (entry.stage != Stage::Waiting) continue;
    const std::uint64_t bytes = entry.segment.values_bytes;
    if (bytes_under_way_ > 0 && bytes_under_way_ + bytes > most_bytes_) return std::nullopt;
    entry.stage = Stage::UnderWay;
    bytes_under_way_ += bytes;
    return Job{.kind = Kind::Values, .segment = entry.segment};
  }
  return std::nullopt;
}

void UploadQueue::set_stage_of_values(const Job& job, Stage stage) {
  bytes_under_way_ -= job.segment.values_bytes;
  const auto of_job = [&](const Entry& entry) { return entry.segment.name == job.segment.name; };
  std::ranges::find_if(entries_, of_job)->stage = stage;
}

void UploadQueue::done(const Job& job, bool is_there) {
  if (job.kind == Kind::Values)
    return set_stage_of_values(job, is_there ? Stage::Found : Stage::Uploaded);
  in_order_under_way_ = false;
  if (job.kind == Kind::CollectionsFile) {
    collections_uploaded_ = job.version;
  } else if (job.kind == Kind::End) {
    ended_ = true;
  } else {
    bytes_waiting_ -= job.segment.bytes();
    entries_.pop_front();
  }
}

void UploadQueue::failed(const Job& job) {
  if (job.kind == Kind::Values) return set_stage_of_values(job, Stage::Waiting);
  in_order_under_way_ = false;
}

bool UploadQueue::is_finished() const noexcept {
  return finishing_ && entries_.empty() && collections_changed_ == collections_uploaded_ &&
         (!ends_ || ended_);
}

std::optional<UploadQueue::Clock::time_point> UploadQueue::waiting_since() const noexcept {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().segment.since;
}

}  // namespace cupel::delivery_detail
