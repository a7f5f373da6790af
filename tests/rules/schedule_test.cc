// The schedule is tested by tables, without threads: each case is a list of calls, and what each
// returns, as text.

#include "../../rules/src/schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cupel::rules_detail {
namespace {

using std::chrono::milliseconds;

struct Call {
  std::string call;
  std::string returns = "";
};

struct ScheduleCase {
  std::string name;
  std::size_t rules = 1;
  std::vector<Call> calls = {};
  Schedule::Patience patience = {};
};

void PrintTo(const ScheduleCase& of, std::ostream* out) { *out << of.name; }

const std::map<std::string, Outcome>& outcomes() {
  static const std::map<std::string, Outcome> all = {
      {"judged", {.what = Judged()}},
      {"fired", {.what = Fired()}},
      {"last", {.what = Fired(), .last = true}},
      {"skipped", {.what = Skipped()}},
      {"failed", {.what = Failed(), .last = true}},
      {"passed", {.what = Passed()}},
      {"not-yet", {.what = NotYet{"another run"}}},
      {"not-yet-again", {.what = NotYet{"another run"}, .reported_before = true}},
  };
  return all;
}

std::string kind_of(const Outcome& outcome) {
  for (const auto& [name, other] : outcomes())
    if (other.what.index() == outcome.what.index() && other.last == outcome.last) return name;
  return "?";
}

// Calls the schedule as texts say.
class Script {
 public:
  explicit Script(const ScheduleCase& of) : schedule_(of.patience) {
    for (std::size_t i = 0; i < of.rules; ++i) schedule_.add_rule();
  }

  std::string run(const std::string& text) {
    std::istringstream words(text);
    std::string call;
    words >> call;
    if (call == "add") return add(words);
    if (call == "wait") return wait(words);
    if (call == "tick") schedule_.add_tick(now_, nullptr);
    if (call == "status") schedule_.change_status(RunStatus::Interrupted);
    if (call == "end") schedule_.end({});
    if (call == "stop") schedule_.request_stop();
    if (call == "actions") schedule_.announce_actions();
    if (call == "close") schedule_.close(number(words));
    if (call == "claim") return claim();
    if (call == "finish") return finish(words);
    if (call == "news") return news(words);
    if (call == "take") return take(words);
    if (call == "leave") return schedule_.leave_step() ? "room" : "";
    if (call == "between") return between();
    return "";
  }

 private:
  static std::size_t number(std::istream& words) {
    std::size_t value = 0;
    words >> value;
    return value;
  }
  std::string add(std::istream& words) {
    std::vector<Step> steps(number(words));
    for (Step& step : steps) step.step = next_++;
    schedule_.add(std::move(steps));
    return "";
  }
  std::string wait(std::istream& words) {
    now_ += milliseconds(number(words));
    return "";
  }
  std::string claim() {
    auto ask_after = Schedule::Clock::time_point::max();
    const auto claim = schedule_.claim(now_, ask_after);
    if (!claim && ask_after == Schedule::Clock::time_point::max()) return "nothing";
    if (!claim)
      return "nothing for " +
             std::to_string(std::chrono::duration_cast<milliseconds>(ask_after - now_).count()) +
             " ms";
    claims_[claim->rule] = *claim;
    const std::string rule = std::to_string(claim->rule) + ": ";
    if (claim->steps.empty()) return rule + "tick";
    return rule + std::to_string(claim->steps.front()->step) + ".." +
           std::to_string(claim->steps.back()->step);
  }
  std::string finish(std::istream& words) {
    const Schedule::Claim claim = claims_.at(number(words));
    std::vector<Outcome> came;
    for (std::string word; words >> word;) {
      std::size_t times = 1;
      if (words >> std::ws && words.peek() == 'x') {
        words.get();
        words >> times;
      }
      came.insert(came.end(), times, outcomes().at(word));
    }
    schedule_.finish(claim, std::move(came), now_);
    return "";
  }
  std::string news(std::istream& words) {
    const std::size_t rule = number(words);
    std::string where;
    words >> where;
    const auto news = schedule_.news(rule, where == "begins");
    if (!news) return "nothing";
    return std::vector<std::string>{"outcome", "between", "end",
                                    "stop"}[static_cast<std::size_t>(*news)];
  }
  std::string take(std::istream& words) {
    const Schedule::Taken taken = schedule_.take_outcome(number(words));
    return std::to_string(taken.step->step) + " " + kind_of(taken.outcome);
  }
  std::string between() {
    const Schedule::Between between = schedule_.take_between();
    std::string text = between.status ? "interrupted " : "";
    for (const auto& [rule, outcome] : between.ticks)
      text += std::to_string(rule) + " " + kind_of(outcome) + " ";
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

  Schedule schedule_;
  Schedule::Clock::time_point now_{std::chrono::hours(1)};
  std::int64_t next_ = 0;
  std::map<std::size_t, Schedule::Claim> claims_;
};

class ScheduleTable : public ::testing::TestWithParam<ScheduleCase> {};

TEST_P(ScheduleTable, returns_what_the_table_has) {
  Script script(GetParam());
  int line = 0;
  for (const Call& call : GetParam().calls)
    EXPECT_EQ(script.run(call.call), call.returns) << "call " << ++line << ": " << call.call;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ScheduleTable,
    ::testing::Values(
        ScheduleCase{"a_claim_has_all_steps_that_are_there",
                     1,
                     {{"claim", "nothing"}, {"add 3"}, {"claim", "0: 0..2"}, {"claim", "nothing"}}},
        ScheduleCase{"the_rule_furthest_behind_is_claimed_first",
                     2,
                     {{"add 2"},
                      {"claim", "0: 0..1"},
                      {"finish 0 judged"},
                      {"claim", "1: 0..1"},
                      {"claim", "0: 1..1"}}},
        ScheduleCase{"rules_are_at_most_64_steps_ahead",
                     1,
                     {{"add 100"},
                      {"claim", "0: 0..63"},
                      {"finish 0 judged x64"},
                      {"claim", "nothing"},
                      {"take 0", "0 judged"},
                      {"leave"},
                      {"claim", "nothing"}}},
        ScheduleCase{"room_is_made_by_halves", 1,
                     [] {
                       std::vector<Call> calls = {{"add 100"}, {"claim", "0: 0..63"}};
                       calls.push_back({"finish 0 judged x64"});
                       for (int i = 0; i < 31; ++i) {
                         calls.push_back({"take 0", std::to_string(i) + " judged"});
                         calls.push_back({"leave"});
                       }
                       calls.push_back({"take 0", "31 judged"});
                       calls.push_back({"leave", "room"});
                       calls.push_back({"claim", "0: 64..95"});
                       return calls;
                     }()},
        ScheduleCase{"outcomes_are_taken_in_the_order_of_steps",
                     2,
                     {{"add 2"},
                      {"claim", "0: 0..1"},
                      {"claim", "1: 0..1"},
                      {"finish 1 fired judged"},
                      {"news 0 begins", "nothing"},
                      {"news 1 within", "outcome"},
                      {"finish 0 judged fired"},
                      {"take 0", "0 judged"},
                      {"take 1", "0 fired"},
                      {"leave"},
                      {"take 0", "1 fired"},
                      {"take 1", "1 judged"}}},
        ScheduleCase{"a_rule_that_has_ended_is_not_claimed_again",
                     1,
                     {{"add 3"},
                      {"claim", "0: 0..2"},
                      {"finish 0 judged last"},
                      {"add 1"},
                      {"tick"},
                      {"claim", "nothing"}}},
        ScheduleCase{"a_rule_that_an_earlier_runner_saw_end_is_never_claimed",
                     1,
                     {{"close 0"}, {"add 1"}, {"claim", "nothing"}}},
        ScheduleCase{"a_tick_is_claimed_once_all_steps_are_judged",
                     1,
                     {{"add 1"},
                      {"tick"},
                      {"claim", "0: 0..0"},
                      {"claim", "nothing"},
                      {"finish 0 judged"},
                      {"claim", "0: tick"},
                      {"finish 0 judged"},
                      {"claim", "nothing"},
                      {"tick"},
                      {"claim", "0: tick"}}},
        ScheduleCase{"a_finding_at_a_tick_comes_behind_the_outcomes_of_steps",
                     1,
                     {{"add 1"},
                      {"claim", "0: 0..0"},
                      {"finish 0 judged"},
                      {"tick"},
                      {"claim", "0: tick"},
                      {"finish 0 fired"},
                      {"news 0 begins", "outcome"},
                      {"between", ""},
                      {"take 0", "0 judged"},
                      {"leave"},
                      {"news 0 begins", "between"},
                      {"between", "0 fired"},
                      {"news 0 begins", "nothing"}}},
        ScheduleCase{"a_rule_that_fired_at_a_tick_is_asked_again_when_that_was_taken",
                     1,
                     {{"tick"},
                      {"claim", "0: tick"},
                      {"finish 0 fired"},
                      {"tick"},
                      {"claim", "nothing"},
                      {"between", "0 fired"},
                      {"claim", "0: tick"}}},
        ScheduleCase{"what_is_not_ready_is_asked_again_after_a_while",
                     1,
                     {{"add 2"},
                      {"claim", "0: 0..1"},
                      {"finish 0 judged not-yet"},
                      {"claim", "nothing for 250 ms"},
                      {"wait 250"},
                      {"claim", "0: 1..1"},
                      {"finish 0 judged"},
                      {"take 0", "0 judged"},
                      {"leave"},
                      {"take 0", "1 judged"}}},
        ScheduleCase{"a_run_that_does_not_come_is_skipped_after_the_timeout",
                     1,
                     {{"add 1"},
                      {"claim", "0: 0..0"},
                      {"finish 0 not-yet"},
                      {"wait 250"},
                      {"claim", "0: 0..0"},
                      {"finish 0 not-yet"},
                      {"wait 250"},
                      {"claim", "0: 0..0"},
                      {"finish 0 not-yet"},
                      {"take 0", "0 skipped"}},
                     {.idle_timeout = milliseconds(500)}},
        ScheduleCase{
            "a_step_that_was_reported_before_passes_after_the_timeout",
            1,
            {{"add 1"}, {"claim", "0: 0..0"}, {"finish 0 not-yet-again"}, {"take 0", "0 passed"}},
            {.wait = false}},
        ScheduleCase{"the_end_is_news_where_a_step_would_begin",
                     1,
                     {{"add 1"},
                      {"end"},
                      {"news 0 begins", "nothing"},
                      {"claim", "0: 0..0"},
                      {"finish 0 judged"},
                      {"news 0 begins", "outcome"},
                      {"take 0", "0 judged"},
                      {"leave"},
                      {"news 0 begins", "end"}}},
        ScheduleCase{"a_stop_comes_first_unless_the_run_has_ended",
                     1,
                     {{"add 1"},
                      {"claim", "0: 0..0"},
                      {"finish 0 judged"},
                      {"stop"},
                      {"news 0 begins", "stop"},
                      {"end"},
                      {"news 0 begins", "stop"},
                      {"take 0", "0 judged"},
                      {"leave"},
                      {"news 0 begins", "end"}}},
        ScheduleCase{"status_and_actions_are_news_between_steps_only",
                     2,
                     {{"status"},
                      {"news 1 within", "nothing"},
                      {"news 0 begins", "between"},
                      {"between", "interrupted"},
                      {"news 0 begins", "nothing"},
                      {"actions"},
                      {"news 1 within", "nothing"},
                      {"news 0 begins", "between"},
                      {"between", ""},
                      {"news 0 begins", "nothing"}}}),
    [](const auto& test) { return test.param.name; });

TEST(Schedule, counts_steps_that_were_judged_and_those_behind) {
  Schedule schedule(Schedule::Patience{});
  schedule.add_rule();
  schedule.add({{.step = 10}, {.step = 20}});
  auto ask_after = Schedule::Clock::time_point::max();
  const auto claim = schedule.claim(Schedule::Clock::now(), ask_after);
  ASSERT_TRUE(claim);
  schedule.finish(*claim, {{.what = Judged()}}, Schedule::Clock::now());
  schedule.take_outcome(0);
  schedule.leave_step();
  const RunnerProgress progress = schedule.progress();
  EXPECT_EQ(progress.newest_step, 20);
  EXPECT_EQ(progress.steps_judged, 1);
  EXPECT_EQ(progress.steps_behind, 1);
}

TEST(Schedule, a_worker_that_waits_ends_when_the_narrator_has_left) {
  Schedule schedule(Schedule::Patience{});
  schedule.add_rule();
  schedule.leave();
  EXPECT_FALSE(schedule.wait_for_claim());
  EXPECT_TRUE(schedule.is_left());
}

TEST(Schedule, waiting_for_news_ends_at_its_time) {
  Schedule schedule(Schedule::Patience{});
  schedule.add_rule();
  EXPECT_FALSE(schedule.wait_for_news(0, true, Schedule::Clock::now()));
}

}  // namespace
}  // namespace cupel::rules_detail
