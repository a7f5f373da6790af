// What saving and reading cost a bucket, counted between our client and a real server.

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cupel/format/layout.h"
#include "cupel/s3/s3_scheme.h"
#include "cupel/trial/run_follower.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "s3/fault_proxy.h"
#include "s3/s3_server.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

/// Requests by kind; those that are not named are none.
struct Counts {
  int list = 0, get = 0, head = 0, put = 0, other = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << counts.list << " LIST, " << counts.get << " GET, " << counts.head << " HEAD, "
               << counts.put << " PUT, " << counts.other << " others";
  }
};

class RequestCounts : public S3Test {
 protected:
  void SetUp() override {
    S3Test::SetUp();
    if (IsSkipped()) return;
    proxy_ = std::make_unique<FaultProxy>(server().port());
    // Written past the proxy.
    store_ = open("run");
    writer_.emplace(*store_);
  }
  WorkerWriter& writer() { return *writer_; }
  std::string endpoint() const { return proxy_->endpoint(); }

  /// Reads the run through the proxy; nothing is looked at but when a test says so.
  std::unique_ptr<Trial> open_trial() const {
    TrialOptions options;
    options.polling.min_interval = options.polling.max_interval = options.polling.full_interval =
        std::chrono::hours(1);
    return std::make_unique<Trial>(open_at(endpoint(), "run"), options);
  }
  /// What `work` asked of the server.
  template <class Work>
  Counts spent(Work work) {
    proxy_->forget_counts();
    work();
    Counts counts{proxy_->count("LIST"), proxy_->count("GET"), proxy_->count("HEAD"),
                  proxy_->count("PUT")};
    counts.other = proxy_->count("") - counts.list - counts.get - counts.head - counts.put;
    return counts;
  }
  /// A step with a value of each of two tensors in the events file, and one in the index.
  void save(std::int64_t step) {
    writer().save(step,
                  {filled("v", 100, static_cast<float>(step)),
                   filled("w", 100, static_cast<float>(step)).with("mean", 3), scalar("loss", 1)});
  }

 private:
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<S3Store> store_;
  std::optional<WorkerWriter> writer_;
};

TEST_F(RequestCounts, a_refresh_is_one_listing_and_one_read_for_each_new_index_object) {
  save(0);
  const auto trial = open_trial();
  EXPECT_EQ(spent([&] { trial->refresh(); }), (Counts{.list = 1}));
  save(1);
  EXPECT_EQ(spent([&] { trial->refresh(); }), (Counts{.list = 1, .get = 1}));
  for (std::int64_t step = 2; step < 22; ++step) save(step);
  EXPECT_EQ(spent([&] { trial->refresh(); }), (Counts{.list = 1, .get = 20}));
  EXPECT_THAT(trial->steps(), SizeIs(22));
}

TEST_F(RequestCounts, a_value_is_one_read_and_neighbours_share_it) {
  for (std::int64_t step = 0; step < 3; ++step) save(step);
  const auto trial = open_trial();
  EXPECT_EQ(spent([&] { EXPECT_EQ(trial->tensor("w").value(1).at(5), 1); }), (Counts{.get = 1}));
  NameSelection both(std::vector<std::string>(), "^[vw]$");
  EXPECT_EQ(spent([&] {
              trial->visit_step(
                  2, both, [](const RecordView& record) { EXPECT_EQ(record.value()->at(7), 2); });
            }),
            (Counts{.get = 1}));
}

TEST_F(RequestCounts, what_is_in_the_index_or_kept_costs_nothing) {
  for (std::int64_t step = 0; step < 3; ++step) save(step);
  const auto trial = open_trial();
  RunFollower(*trial).keep_values(1U << 20U);
  trial->tensor("w").value(1);
  EXPECT_EQ(spent([&] {
              EXPECT_EQ(trial->tensor("w").value(1).at(5), 1);
              EXPECT_EQ(trial->view()->tensor("w").value(1).at(5), 1);
              EXPECT_EQ(trial->tensor("loss").value(2).at(0), 1);
              EXPECT_EQ(trial->tensor("w").reduction_value(2, "mean"), 3);
              EXPECT_THAT(trial->steps(), SizeIs(3));
              EXPECT_THAT(trial->tensor_names({.step = 2}), SizeIs(3));
            }),
            Counts{});
}

TEST_F(RequestCounts, a_hook_makes_two_puts_for_a_segment_and_a_few_for_the_run) {
  const ScratchDirectory scratch;
  EnvironmentGuard environment;
  environment.set("AWS_ENDPOINT_URL_S3", endpoint());
  HookOptions options;
  options.out_dir = "s3://" + bucket() + "/hooked";
  options.schemes = {s3_scheme()};
  options.spool_dir = (scratch / "spool").string();
  options.save_all = true;
  options.save_config = {.save_interval = 1};
  options.segment_bytes = 20'000;
  constexpr int kSteps = 60;
  Counts counts = spent([&] {
    Hook hook(options);
    const std::vector<float> values(1000, 1);
    for (int step = 0; step < kSteps; ++step) {
      hook.next_step();
      hook.save_tensor("w", TensorView(values.data(), {values.size()}));
      hook.save_scalar("loss", 0.5);
    }
    EXPECT_THAT(hook.close().problems, IsEmpty());
  });
  const auto hooked = open("hooked");
  const auto segments = static_cast<int>(hooked->list(kIndexPrefix).size());
  const auto values = static_cast<int>(hooked->list(kEventsPrefix).size());
  EXPECT_GE(segments, 10);
  EXPECT_EQ(segments, values);
  // The collections file, once more when it knows the tensors, and the end marker.
  constexpr int kMostOfTheRun = 3;
  EXPECT_THAT(counts.put, AllOf(Ge(2 * segments + 2), Le(2 * segments + kMostOfTheRun)));
  EXPECT_EQ(Trial(open("hooked")).steps().size(), kSteps);
}

}  // namespace
}  // namespace cupel::testing
