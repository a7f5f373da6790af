// Copying and verifying where every request costs time: segments are worked at together, and what
// is told and put comes in their order all the same.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/trial/copy_run.h"
#include "cupel/trial/verify_run.h"
#include "trial/far_run.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kSegments = 40;

/// Segments with values, of two workers.
struct LongRun : FarRun {
  WorkerWriter first = worker({.num_workers = 2});
  WorkerWriter second = worker({.worker = "worker_1", .num_workers = 2});

  LongRun() {
    for (std::int64_t step = 0; step < kSegments / 2; ++step)
      for (WorkerWriter* const writer : {&first, &second}) {
        writer->save(step, {filled("w", 100, static_cast<float>(step))});
        events.push_back(writer->events_key());
      }
    first.close();
    second.close();
    store->inner().put(kEndMarker, {});
  }
  std::vector<std::string> events;  // keys
};

/// Lets requests for values wait until so many of them are there; a minute at most.
class Gathering {
 public:
  explicit Gathering(int expected) : expected_(expected) {}
  void operator()(std::string_view kind, std::string_view key) {
    if (kind != "GET" || !key.starts_with(kEventsPrefix)) return;
    std::unique_lock lock(mutex_);
    ++there_;
    changed_.notify_all();
    are_there_ = changed_.wait_for(lock, std::chrono::minutes(1), [&] {
      return there_ >= expected_;
    }) && are_there_;
  }
  bool were_there() const { return are_there_ && there_ >= expected_; }

 private:
  const int expected_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_ = 0;
  bool are_there_ = true;
};

TEST(FarCopy, reads_segments_together_and_puts_each_index_in_its_order) {
  LongRun run;
  const auto gathering = std::make_shared<Gathering>(8);
  run.store->before_request = [gathering](auto kind, auto key) { (*gathering)(kind, key); };
  RequestStore to;
  const CopyReport report = copy_run(*run.store, to, {.requests_at_once = 8});
  EXPECT_TRUE(gathering->were_there());
  EXPECT_LE(run.store->most_at_once(), 8 + 1);  // what is put in order asks, too
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.steps, kSegments / 2);
  EXPECT_EQ(report.files, 2 + 2 * kSegments + 2 + 1);

  std::vector<std::string> indexes, sorted;
  for (const std::string& line : to.log())
    if (line.starts_with("PUT " + std::string(kIndexPrefix))) indexes.push_back(line);
  for (const char* const worker : {"worker_0", "worker_1"})
    for (std::int64_t step = 0; step < kSegments / 2; ++step)
      sorted.push_back("PUT " + SegmentName{0, step, worker}.index_key());
  EXPECT_EQ(indexes, sorted);
  EXPECT_EQ(to.log().back(), "PUT " + std::string(kEndMarker));
  EXPECT_THAT(verify_run(to).findings, IsEmpty());
}

TEST(FarCopy, asks_for_each_file_once) {
  LongRun run;
  RequestStore to;
  const Requests spent = run.spent([&] { copy_run(*run.store, to); });
  // Files of values and index, the workers' collections, and these once more behind the values.
  EXPECT_LE(spent.get, 2 * kSegments + 2 + kSegments);
  EXPECT_GE(spent.get, 2 * kSegments + 2);
  EXPECT_EQ(spent.list, 4);
  EXPECT_EQ(spent.head, 1);
  EXPECT_EQ(to.requests().put, 2 + 2 * kSegments + 2 + 1);
}

TEST(FarCopy, puts_no_index_behind_one_that_is_damaged) {
  LongRun run;
  const std::string damaged = SegmentName{0, 7, "worker_0"}.index_key();
  flip_bit(run.store->inner(), damaged, 900);
  RequestStore to;
  EXPECT_THROW(copy_run(*run.store, to), FormatError);
  EXPECT_EQ(to.inner().list(kIndexPrefix).size(), 7);
  EXPECT_TRUE(verify_run(to).ok());
}

TEST(FarCopy, that_is_damaged_names_a_file_that_is_missing) {
  LongRun run;
  run.store->inner().remove(run.events[3]);
  RequestStore to;
  try {
    copy_run(*run.store, to);
    FAIL() << "nothing was thrown";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, run.events[3]);
  }
}

TEST(FarVerification, checks_segments_together) {
  LongRun run;
  const auto gathering = std::make_shared<Gathering>(8);
  run.store->before_request = [gathering](auto kind, auto key) { (*gathering)(kind, key); };
  std::uint64_t last = 0, total = 0;
  bool grows = true;
  const VerifyReport report =
      verify_run(*run.store, {.progress =
                                  [&](std::uint64_t done, std::uint64_t of) {
                                    grows = grows && done >= last;
                                    last = done;
                                    total = of;
                                  },
                              .requests_at_once = 8});
  EXPECT_TRUE(gathering->were_there());
  EXPECT_LE(run.store->most_at_once(), 8);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.values, kSegments);
  EXPECT_TRUE(grows);
  EXPECT_EQ(last, total);
}

TEST(FarVerification, asks_for_each_file_a_few_times) {
  LongRun run;
  const Requests spent = run.spent([&] { verify_run(*run.store); });
  EXPECT_EQ(spent.list, 4);
  EXPECT_LE(spent.get, 2 + 4 * kSegments);
  EXPECT_LE(spent.head, 1 + 4 * kSegments);
}

TEST(FarVerification, tells_all_damage_as_where_segments_are_checked_one_by_one) {
  LongRun run;
  Store& inner = run.store->inner();
  flip_bit(inner, SegmentName{0, 3, "worker_1"}.index_key(), 900);
  flip_bit(inner, SegmentName{0, 5, "worker_0"}.events_key(), 600);
  inner.remove(SegmentName{0, 8, "worker_0"}.events_key());
  inner.remove(SegmentName{0, 9, "worker_1"}.index_key());
  const VerifyReport far = verify_run(*run.store), near = verify_run(inner);
  EXPECT_GE(near.damages(), 4);
  EXPECT_EQ(far.findings, near.findings);
  EXPECT_EQ(far.values, near.values);
  EXPECT_EQ(far.steps, near.steps);
}

}  // namespace
}  // namespace cupel::testing
