#include "../../writer/src/overhead_governor.h"

#include <gmock/gmock.h>

#include <vector>

namespace cupel {
namespace {

using namespace writer_detail;

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Duration = OverheadGovernor::Duration;

// A training whose steps take a fixed time, and what saving costs at each level.
class Training {
 public:
  explicit Training(double budget, const SavingLevel& full = {}) : governor(budget, full) {}

  Duration step_time = 10ms;
  Duration waiting = 0ms, copying = 0ms, reducing = 0ms;

  // Trains on; returns the levels that were taken up on the way.
  std::vector<std::string> train(int steps) {
    std::vector<std::string> levels;
    for (int i = 0; i < steps; ++i) {
      const SavingLevel& level = governor.level();
      const bool saved = governor.admit();
      Duration cost{};
      if (saved) cost += level.reductions_only ? reducing : copying;
      if (saved && !level.in_background) cost += waiting;
      now += step_time + cost;
      spent += cost;
      if (governor.observe(now, spent, saved)) levels.push_back(governor.level().to_text());
    }
    return levels;
  }
  double share() const {
    return static_cast<double>(spent.count()) / static_cast<double>(now.count());
  }

  OverheadGovernor governor;
  Duration now{}, spent{};
};

TEST(OverheadGovernor, leaves_a_training_alone_whose_saving_is_cheap) {
  Training training(0.01);
  training.copying = 50us;
  EXPECT_THAT(training.train(1000), ElementsAre());
  EXPECT_EQ(training.governor.level(), SavingLevel{});
}

TEST(OverheadGovernor, lowers_the_level_in_the_stated_order) {
  Training training(0.01);
  training.waiting = 5ms;
  training.copying = 2ms;
  training.reducing = 1ms;
  EXPECT_THAT(training.train(40),
              ElementsAre("background", "reductions only", "1 of 2 due steps", "1 of 4 due steps",
                          "1 of 8 due steps", "1 of 16 due steps"));
}

TEST(OverheadGovernor, stops_where_the_budget_is_kept) {
  Training training(0.01);
  training.waiting = 5ms;
  training.copying = 50us;
  EXPECT_THAT(training.train(50), ElementsAre("background"));
}

TEST(OverheadGovernor, keeps_a_long_training_within_its_budget) {
  for (const double budget : {0.002, 0.01, 0.05}) {
    Training training(budget);
    training.waiting = 20ms;
    training.copying = 3ms;
    training.reducing = 1ms;
    training.train(100'000);
    EXPECT_LE(training.share(), budget * 1.2) << budget;
    EXPECT_GE(training.share(), budget * 0.3) << "it saves as much as it may: " << budget;
  }
}

TEST(OverheadGovernor, comes_back_when_saving_has_become_cheap) {
  Training training(0.01);
  training.waiting = 5ms;
  training.copying = 2ms;
  training.reducing = 1ms;
  training.train(100);
  EXPECT_NE(training.governor.level(), SavingLevel{});
  training.waiting = training.copying = training.reducing = 1us;
  training.train(100'000);
  EXPECT_EQ(training.governor.level(), SavingLevel{});
}

TEST(OverheadGovernor, tries_a_level_that_is_too_dear_ever_more_rarely) {
  Training training(0.01);
  training.waiting = 5ms;
  training.copying = 10us;
  const auto first = training.train(20'000).size();
  const auto later = training.train(20'000).size();
  EXPECT_GT(first, 2) << "it does try";
  EXPECT_LT(later, first);
}

TEST(OverheadGovernor, does_not_spend_the_credit_of_hours_on_one_long_stop) {
  Training training(0.01);
  training.train(1'000'000);  // almost three hours that cost nothing
  training.copying = 5s;
  EXPECT_THAT(training.train(2), ElementsAre("background", "reductions only"));
}

TEST(OverheadGovernor, does_not_lower_the_level_for_what_was_spent_before_the_steps) {
  Training training(0.01);
  training.now = training.spent = 300ms;
  training.copying = 50us;
  EXPECT_THAT(training.train(1000), ElementsAre());
}

TEST(OverheadGovernor, a_hook_that_commits_in_the_background_anyway_begins_with_the_next_level) {
  Training training(0.01, {.in_background = true});
  training.copying = 2ms;
  EXPECT_THAT(training.train(3), ElementsAre("reductions only"));
  training.copying = training.reducing = 0ms;
  training.train(10'000);
  EXPECT_EQ(training.governor.level(), SavingLevel{.in_background = true});
}

TEST(OverheadGovernor, saves_at_least_one_due_step_in_so_many) {
  Training training(0.0001);
  training.reducing = 100ms;
  training.copying = 100ms;
  training.train(100'000);
  EXPECT_EQ(training.governor.level().every, OverheadGovernor::kMostSkipped);
}

}  // namespace
}  // namespace cupel
