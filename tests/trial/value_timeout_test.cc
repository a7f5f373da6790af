// Values whose object is not there yet though the index names it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/far_run.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::SizeIs;

/// A run whose values have not arrived.
struct LateValues : FarRun {
  WorkerWriter writer = worker();
  std::string key;
  std::vector<std::byte> values;

  LateValues() {
    writer.save(0, {filled("v", 100, 1), filled("w", 100, 2)});
    key = writer.events_key();
    values = *store->inner().get(key);
    store->inner().remove(key);
  }
  void arrive() const { store->inner().put(key, values); }
  void arrive_after(milliseconds time) {
    store->before_request = [this, time](std::string_view, std::string_view) {
      if (clock->passed() >= time) arrive();
    };
  }
};

TEST(LateValue, is_waited_for) {
  LateValues run;
  const auto trial = run.open();
  run.arrive_after(seconds(20));
  EXPECT_EQ(trial->tensor("w").value(0).at(99), 2);
  EXPECT_GE(run.clock->passed(), seconds(20));
  EXPECT_LE(run.clock->passed(), seconds(26));
}

TEST(LateValue, is_unavailable_when_it_has_not_come_in_a_minute) {
  const LateValues run;
  const auto trial = run.open();
  const Requests spent =
      run.spent([&] { EXPECT_THROW(trial->tensor("w").value(0), TensorUnavailableForStep); });
  EXPECT_EQ(run.clock->passed(), seconds(60));
  EXPECT_LT(spent.all(), 40);
}

TEST(LateValue, that_was_waited_for_is_not_waited_for_again) {
  const LateValues run;
  const auto trial = run.open();
  EXPECT_THROW(trial->tensor("w").value(0), TensorUnavailableForStep);
  const milliseconds before = run.clock->passed();
  const NoRefresh pinned(*trial);
  EXPECT_EQ(run.spent([&] { EXPECT_THROW(trial->tensor("v").value(0), TensorUnavailableForStep); }),
            (Requests{.get = 1, .head = 1}));
  EXPECT_EQ(run.clock->passed(), before);
  run.arrive();
  EXPECT_EQ(trial->tensor("v").value(0).at(0), 1);
}

TEST(LateValue, is_waited_for_since_its_index_was_seen) {
  const LateValues run;
  const auto trial = run.open();
  run.clock->pass(seconds(45));
  EXPECT_THROW(trial->tensor("w").value(0), TensorUnavailableForStep);
  EXPECT_EQ(run.clock->passed(), seconds(60));
}

TEST(LateValue, is_waited_for_until_the_timeout_of_the_options) {
  const LateValues run;
  const auto trial = run.open({.polling = {.value_timeout = milliseconds(0)}});
  EXPECT_THROW(trial->tensor("w").value(0), TensorUnavailableForStep);
  EXPECT_EQ(run.clock->passed(), seconds(0));
  EXPECT_THROW(run.open({.polling = {.value_timeout = milliseconds(-1)}}), UsageError);
}

TEST(LateValue, is_left_out_of_many_when_it_has_not_come) {
  LateValues run;
  run.writer.save(1, {filled("w", 100, 3)});
  const auto trial = run.open();
  const auto values = trial->tensor("w").values();
  ASSERT_THAT(values, SizeIs(1));
  EXPECT_EQ(values.at(1).at(0), 3);
  EXPECT_EQ(run.clock->passed(), seconds(60));
}

TEST(LateValue, that_came_between_two_questions_is_read) {
  LateValues run;
  const auto trial = run.open();
  run.store->before_request = [&](std::string_view kind, std::string_view) {
    if (kind == "HEAD") run.arrive();
  };
  EXPECT_EQ(trial->tensor("w").value(0).at(0), 2);
  EXPECT_EQ(run.clock->passed(), seconds(0));
}

TEST(LateValue, is_no_longer_waited_for_when_the_follower_is_woken) {
  LateValues run;
  const auto trial = std::make_unique<Trial>(run.store);  // with the clock of the machine
  std::promise<void> asked;
  run.store->before_request = [&, first = true](std::string_view kind, std::string_view) mutable {
    if (kind == "HEAD" && std::exchange(first, false)) asked.set_value();
  };
  std::jthread reader([&] { EXPECT_THROW(trial->tensor("w").value(0), TensorUnavailableForStep); });
  asked.get_future().wait();
  RunFollower(*trial).wake();
}

TEST(LateValue, is_not_waited_for_where_the_service_fails) {
  LateValues run;
  const auto trial = run.open();
  run.store->before_request = [](std::string_view, std::string_view key) {
    throw StoreError(std::string(key), true, "503 Slow Down");
  };
  EXPECT_THROW(trial->tensor("w").value(0), StoreError);
  EXPECT_EQ(run.clock->passed(), seconds(0));
}

}  // namespace
}  // namespace cupel::testing
