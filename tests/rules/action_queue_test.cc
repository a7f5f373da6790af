// What the queue does with commands, signals, files and its own limits; webhooks and kills have
// tests of their own.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/hostile_text.h"
#include "core/log_capture.h"
#include "rules/action_queue_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Kind = Action::Kind;
using Clock = std::chrono::steady_clock;

// Ignores TERM and runs for ever.
constexpr const char* kStubborn = "trap '' TERM INT HUP; while :; do sleep 100; done";

TEST_F(ActionQueueTest, a_command_gets_the_verdict_as_a_line_of_json_on_its_standard_input) {
  EXPECT_EQ(carry_out(exec("cat > " + file("input"))), "done 1 the command ended with status 0");
  EXPECT_EQ(content("input"), to_json(exec("").line) + "\n");
  EXPECT_EQ(nlohmann::json::parse(content("input"))["step"], 120);
}

TEST_F(ActionQueueTest, a_command_gets_the_firing_in_its_environment_beside_ours) {
  environment_.set("CUPEL_TEST_OURS", "ours");
  environment_.set("CUPEL_STEP", "of an outer watch");
  carry_out(
      exec("echo \"$CUPEL_RULE|$CUPEL_NAME|$CUPEL_STEP|$CUPEL_TRIAL|$CUPEL_MESSAGE|"
           "$CUPEL_INCIDENT|$CUPEL_TEST_OURS\" > " +
               file("environment"),
           "vg/120/0 \n%"));
  EXPECT_EQ(content("environment"),
            "VanishingGradient|vg|120|" + file("run") +
                "|gradient/fc1: abs_mean 0 < 1e-07|vg/120/0%20%0A%25|ours\n");
}

TEST_F(ActionQueueTest, names_of_any_bytes_and_length_reach_a_command_harmlessly) {
  ActionOrder order = exec("printf %s \"$CUPEL_NAME\" > " + file("name"));
  order.line.name = std::string("$(touch /) `x`;\0\x1b[2J", 20);
  order.line.message = std::string(1U << 20U, 'm');
  EXPECT_THAT(carry_out(std::move(order)), StartsWith("done"));
  EXPECT_EQ(content("name"), "$(touch /) `x`;\\x00\\x1b[2J");
}

TEST_F(ActionQueueTest, a_command_has_none_of_our_files) {
  ASSERT_EQ(::dup2(STDERR_FILENO, 57), 57);  // without O_CLOEXEC
  carry_out(exec("test -e /proc/self/fd/57 || touch " + file("has_none")));
  ::close(57);
  EXPECT_TRUE(std::filesystem::exists(file("has_none")));
}

TEST_F(ActionQueueTest, a_command_can_be_signalled_whatever_we_block_and_ignore) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  auto* const old = ::signal(SIGPIPE, SIG_IGN);
  carry_out(exec("grep -E 'SigBlk|SigIgn' /proc/self/status > " + file("signals")));
  ::signal(SIGPIPE, old);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // The C library ignores two signals of its own, 32 and 33, in what it spawns.
  EXPECT_THAT(content("signals"), MatchesRegex("SigBlk:\t0{16}\nSigIgn:\t0{7}[01][08]0000000\n"));
}

TEST_F(ActionQueueTest, a_failing_command_is_tried_three_times) {
  EXPECT_EQ(carry_out(exec("echo x >> " + file("runs") + "; exit 3")),
            "failed 3 the command ended with status 3");
  EXPECT_EQ(content("runs"), "x\nx\nx\n");
}

TEST_F(ActionQueueTest, a_retry_that_succeeds_is_told_with_its_number) {
  EXPECT_EQ(
      carry_out(exec("echo x >> " + file("runs") + "; test $(wc -l < " + file("runs") + ") -ge 2")),
      "done 2 the command ended with status 0");
  EXPECT_EQ(lines_.at(0).find("step 120 TRAIN  vg  exec:echo x"), 0U) << lines_.at(0);
  EXPECT_THAT(lines_.at(0), HasSubstr(" after 2 attempts: the command ended"));
}

TEST_F(ActionQueueTest, delays_before_retries_double) {
  options_.first_delay = 20ms;
  options_.attempts = 4;
  const auto begin = Clock::now();
  EXPECT_THAT(carry_out(exec("exit 1")), StartsWith("failed 4"));
  EXPECT_GE(Clock::now() - begin, 140ms);
}

TEST_F(ActionQueueTest, an_order_that_waits_for_its_retry_does_not_hold_up_others) {
  options_.first_delay = std::chrono::hours(1);
  const auto told = carry_out({exec("exit 1", "a"), exec("exit 0", "b")}, 10s);
  EXPECT_THAT(told, ElementsAre("done 1 the command ended with status 0",
                                "failed 1 the command ended with status 1; the watch ended before "
                                "it was tried again"));
}

TEST_F(ActionQueueTest, a_command_that_takes_too_long_is_ended_with_all_it_began) {
  options_.attempts = 1;
  ActionOrder order =
      exec("(trap '' TERM; sh -c 'echo $$ > " + file("inner") + "; exec sleep 1000') & wait");
  order.action.timeout = 1s;
  EXPECT_EQ(carry_out(std::move(order)),
            "failed 1 the command was ended, because it ran longer than 1 s");
  const int inner = std::stoi(content("inner"));
  // Whoever is its parent now reaps it in a moment; until then it is a zombie.
  const auto until = Clock::now() + 10s;
  const auto is_alive = [&] {
    const std::string stat = text_of("/proc/" + std::to_string(inner) + "/stat");
    return !stat.empty() && stat.find(") Z ") == std::string::npos;
  };
  while (is_alive() && Clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(is_alive());
}

TEST_F(ActionQueueTest, closing_does_not_wait_for_a_command_that_ignores_signals) {
  ASSERT_TRUE(queue().add(exec(std::string("touch ") + file("begun") + "; " + kStubborn)));
  while (!std::filesystem::exists(file("begun"))) std::this_thread::yield();
  const auto begin = Clock::now();
  EXPECT_THAT(closed(0ms), ElementsAre("failed 1 the command was ended, because the watch ended"));
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_F(ActionQueueTest, closing_carries_out_what_waits_within_the_grace_and_tells_the_rest) {
  const auto told = carry_out({exec("exit 0", "a"), exec(kStubborn, "b"), exec("exit 0", "c")}, 1s);
  EXPECT_THAT(told, ElementsAre("done 1 the command ended with status 0",
                                "failed 1 the command was ended, because the watch ended",
                                "failed 0 was not carried out, because the watch ended"));
}

TEST_F(ActionQueueTest, a_closed_queue_takes_no_orders) {
  queue().close(0ms);
  EXPECT_FALSE(queue().add(exec("exit 0")));
  EXPECT_THAT(closed(0ms), SizeIs(0));
}

TEST_F(ActionQueueTest, what_is_done_at_once_does_not_wait_for_a_command) {
  queue().add(exec(kStubborn, "a"));
  queue().add(exec("exit 0", "b"));
  queue().add(order_of({.kind = Kind::Stop}, "c"));
  await_outcomes(1);
  EXPECT_THAT(closed(0ms), ElementsAre("done 1 stop_training was written", StartsWith("failed"),
                                       StartsWith("failed")));
}

TEST_F(ActionQueueTest, orders_beyond_the_bound_are_refused_without_waiting) {
  options_.most_waiting = 2;
  queue().add(exec(std::string("touch ") + file("begun") + "; " + kStubborn, "running"));
  while (!std::filesystem::exists(file("begun"))) std::this_thread::yield();
  for (const char* incident : {"a", "b", "c"}) queue().add(exec("exit 0", incident));
  await_outcomes(1);
  EXPECT_THAT(closed(0ms),
              ElementsAre("failed 0 was refused, because 2 actions wait", StartsWith("failed 1"),
                          StartsWith("failed 0 was not"), StartsWith("failed 0 was not")));
}

TEST_F(ActionQueueTest, what_is_done_at_once_is_not_refused_and_takes_nobody_s_place) {
  options_.most_waiting = 1;
  queue().add(exec(std::string("touch ") + file("begun") + "; " + kStubborn, "running"));
  while (!std::filesystem::exists(file("begun"))) std::this_thread::yield();
  for (const char* name : {"a", "b", "c"})
    queue().add(order_of({.kind = Kind::StopFile, .target = file(name)}, name));
  queue().add(exec("exit 0", "waits"));
  queue().add(order_of({.kind = Kind::StopFile, .target = file("d")}, "d"));
  await_outcomes(4);
  EXPECT_THAT(closed(0ms), ElementsAre(StartsWith("done"), StartsWith("done"), StartsWith("done"),
                                       StartsWith("done"), StartsWith("failed 1"),
                                       StartsWith("failed 0 was not")));
}

TEST_F(ActionQueueTest, a_dry_run_says_what_would_be_done_and_does_nothing) {
  options_.dry_run = true;
  keep_claims();
  const auto told = carry_out({
      order_of({.kind = Kind::Stop}),
      order_of({.kind = Kind::Signal, .process = ::getppid(), .signal = SIGKILL}),
      exec("touch " + file("touched")),
      webhook("http://127.0.0.1:1/"),
      order_of({.kind = Kind::StopFile, .target = file("touched")}),
      order_of({.kind = Kind::Log}),
      order_of({.kind = Kind::Email, .target = "a@b.de"}),
  });
  EXPECT_THAT(
      told,
      ElementsAre("planned 0 stop_training would be written",
                  MatchesRegex("planned 0 SIGKILL to process [0-9]+ would be sent"),
                  "planned 0 the command would be run", "planned 0 the verdict would be posted",
                  "planned 0 the file would be created", "planned 0 a warning would be logged",
                  AllOf(StartsWith("planned 0"), HasSubstr("CUPEL_MAIL_COMMAND"))));
  EXPECT_EQ(lines_.at(0), "step 120 TRAIN  vg  stop planned: stop_training would be written");
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

TEST_F(ActionQueueTest, a_stop_is_written_into_the_run) {
  EXPECT_EQ(carry_out(order_of({.kind = Kind::Stop})), "done 1 stop_training was written");
  EXPECT_EQ(content("run/stop_training"), R"({"rule":"VanishingGradient","step":120,)"
                                          R"("reason":"gradient/fc1: abs_mean 0 < 1e-07"})"
                                          "\n");
  EXPECT_THAT(lines_, ElementsAre("step 120 TRAIN  vg  stop: stop_training was written"));
}

TEST_F(ActionQueueTest, a_signal_reaches_its_process_and_one_that_is_gone_is_not_tried_again) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const Action action{.kind = Kind::Signal, .process = child, .signal = SIGUSR1};
  EXPECT_EQ(carry_out(order_of(action)), "done 1 sent SIGUSR1 to process " + std::to_string(child));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
  EXPECT_EQ(carry_out(order_of(action)), "failed 1 there is no process " + std::to_string(child));
}

TEST_F(ActionQueueTest, nobody_makes_it_signal_itself_or_a_group) {
  for (const std::int64_t process : {std::int64_t{::getpid()}, std::int64_t{0}, std::int64_t{-1}})
    EXPECT_THAT(carry_out(order_of({.kind = Kind::Signal, .process = process, .signal = SIGTERM})),
                HasSubstr("must not be signalled"));
}

TEST_F(ActionQueueTest, a_stop_file_is_created_and_one_that_is_there_stays_as_it_is) {
  const Action action{.kind = Kind::StopFile, .target = file("stop here")};
  EXPECT_EQ(carry_out(order_of(action)), "done 1 the file is there");
  EXPECT_TRUE(std::filesystem::exists(file("stop here")));
  scratch_.add_to_file("stop here", "mine");
  carry_out(order_of(action));
  EXPECT_EQ(content("stop here"), "mine");
  EXPECT_THAT(carry_out(order_of({.kind = Kind::StopFile, .target = file("no/such/folder")})),
              AllOf(StartsWith("failed 3"), HasSubstr("No such file")));
}

TEST_F(ActionQueueTest, a_log_is_one_warning) {
  const LogCapture log;
  ActionOrder order = order_of({.kind = Kind::Log});
  order.line.message = "a\x1b[2J";
  carry_out(std::move(order));
  EXPECT_THAT(log.lines(), ElementsAre(std::pair(LogLevel::Warning,
                                                 std::string("vg fired at step 120: a\\x1b[2J"))));
}

TEST_F(ActionQueueTest, a_message_is_given_to_the_configured_command) {
  environment_.set("CUPEL_MAIL_COMMAND",
                   "(echo \"$CUPEL_ENDPOINT|$CUPEL_SUBJECT\"; cat) > " + file("mail"));
  EXPECT_THAT(carry_out(order_of({.kind = Kind::Email, .target = "ops@example.com"})),
              StartsWith("done 1"));
  EXPECT_EQ(content("mail"),
            "ops@example.com|SMDebugRule:VanishingGradient fired\n"
            "SMDebugRule:VanishingGradient fired at step 120\n"
            "gradient/fc1: abs_mean 0 < 1e-07\n");
}

TEST_F(ActionQueueTest, hostile_text_reaches_a_mail_escaped) {
  environment_.set("CUPEL_MAIL_COMMAND",
                   "(printf '%s\\n' \"$CUPEL_SUBJECT\" \"$CUPEL_RULE\" \"$CUPEL_NAME\" "
                   "\"$CUPEL_MESSAGE\"; cat) > " +
                       file("mail"));
  ActionOrder order = order_of({.kind = Kind::Email, .target = "ops@example.com"});
  order.line.rule = order.line.name = order.line.message = hostile_text();
  carry_out(order);
  EXPECT_THAT(raw_in(content("mail")), IsEmpty());
}

TEST_F(ActionQueueTest, no_line_of_a_mail_begins_a_command_of_mailx) {
  environment_.set("CUPEL_MAIL_COMMAND", "cat > " + file("mail"));
  ActionOrder order = order_of({.kind = Kind::Email, .target = "ops@example.com"});
  for (const char* const message : {"~!touch /tmp/x", ".", "a\n~!touch /tmp/x\n.\nb"}) {
    order.line.message = message;
    carry_out(order);
    EXPECT_THAT(content("mail"), AllOf(Not(HasSubstr("\n~")), Not(HasSubstr("\n."))));
  }
}

TEST_F(ActionQueueTest, hostile_text_reaches_a_command_escaped) {
  ActionOrder order =
      exec("(printf '%s\\n' \"$CUPEL_NAME\" \"$CUPEL_MESSAGE\"; cat) > " + file("all"));
  order.line.name = order.line.message = hostile_text();
  carry_out(order);
  EXPECT_THAT(raw_in(content("all")), IsEmpty());
}

TEST_F(ActionQueueTest, stops_that_follow_each_other_are_one_request_in_the_words_of_the_last) {
  keep_claims();
  std::vector<ActionOrder> orders;
  orders.push_back(exec("sleep 0.2", "first"));  // the others gather meanwhile
  for (int i = 0; i < 1000; ++i) {
    orders.push_back(order_of({.kind = Kind::Stop}, "s" + std::to_string(i)));
    orders.back().line.step = i;
  }
  const std::vector<std::string> told = carry_out(orders);
  EXPECT_THAT(told, SizeIs(1001));
  EXPECT_EQ(std::count(told.begin(), told.end(), "done 1 stop_training was written"), 1000);
  EXPECT_THAT(content("run/stop_training"), HasSubstr("999"));
}

TEST_F(ActionQueueTest, stops_that_cannot_be_written_fail_each) {
  options_.performer.run = file("a file");
  std::ofstream(file("a file")) << "no directory";
  const auto told =
      carry_out({order_of({.kind = Kind::Stop}, "a"), order_of({.kind = Kind::Stop}, "b")});
  EXPECT_THAT(told, SizeIs(2));
  EXPECT_THAT(told, Each(StartsWith("failed")));
}

TEST_F(ActionQueueTest, a_message_without_a_command_fails_and_says_which_variable_to_set) {
  EXPECT_THAT(carry_out(order_of({.kind = Kind::Sms, .target = "+49123"})),
              AllOf(StartsWith("failed 1"), HasSubstr("set CUPEL_SMS_COMMAND")));
}

TEST_F(ActionQueueTest, what_the_callback_throws_harms_nobody) {
  const LogCapture log;
  ActionQueue queue({}, [](const ActionQueue::Outcome&) { throw std::runtime_error("full"); });
  queue.add(exec("exit 0"));
  queue.add(exec("touch " + file("second")));
  queue.close(60s);
  EXPECT_TRUE(std::filesystem::exists(file("second")));
  EXPECT_THAT(log.lines(), SizeIs(2));
}

}  // namespace
}  // namespace cupel::testing
