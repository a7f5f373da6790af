// Queues that are killed and started again: what was begun is not begun twice.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "../../rules/src/claims.h"
#include "rules/action_queue_fixture.h"

namespace cupel::testing {
namespace {

using namespace rules_detail;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

class ActionClaimsTest : public ActionQueueTest {
 protected:
  ActionClaimsTest() {
    keep_claims();
    // Shells that a killed queue left become our children, so that they can be waited for.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~ActionClaimsTest() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  static void await_orphans() {
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }

  // Those that are stopped now.
  static std::vector<pid_t> hold_up_orphans() {
    const std::string self = std::to_string(::getpid());
    std::ifstream children("/proc/self/task/" + self + "/children");
    std::vector<pid_t> held;
    for (pid_t child = 0; children >> child;) {
      int status = 0;
      ::kill(child, SIGSTOP);
      if (::waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
        held.push_back(child);
    }
    return held;
  }

  // Carries the order out in a process that is killed after so long, unless it was faster.
  void kill_while_carrying_out(const ActionOrder& order, std::chrono::microseconds after) {
    const pid_t child = ::fork();
    if (child == 0) {
      ActionQueue queue(options_, [](const ActionQueue::Outcome&) {});
      queue.add(order);
      queue.close(60s);
      ::_exit(0);
    }
    const auto until = Clock::now() + after;
    while (Clock::now() < until) {
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  std::int64_t runs() const {
    const std::string text = content("runs");
    return std::count(text.begin(), text.end(), '\n');
  }
};

TEST_F(ActionClaimsTest, a_command_runs_once_whenever_its_queue_is_killed) {
  std::minstd_rand random(7);
  std::uniform_int_distribution<int> instant(0, 12'000);
  int interrupted = 0;
  for (int round = 0; round < 150; ++round) {
    const ActionOrder order = exec("echo x >> " + file("runs"), std::to_string(round));
    kill_while_carrying_out(order, std::chrono::microseconds(instant(random)));
    if (runs() != round + 1) ++interrupted;
    EXPECT_EQ(carry_out(order), "done 1 the command ended with status 0") << round;
    await_orphans();
    ASSERT_EQ(runs(), round + 1) << round;
  }
  EXPECT_GT(interrupted, 5);  // else nothing was tested
}

TEST_F(ActionClaimsTest, a_shell_that_comes_to_its_claim_when_all_is_told_runs_nothing) {
  std::minstd_rand random(11);
  std::uniform_int_distribution<int> instant(0, 6'000);
  int late = 0;
  for (int round = 0; late < 3; ++round) {
    ASSERT_LT(round, 500) << "no shell was held up before its claim";
    const ActionOrder order = exec("echo x >> " + file("runs"), std::to_string(round));
    const std::string path = claim_path(file("claims"), order.incident, 1);
    kill_while_carrying_out(order, std::chrono::microseconds(instant(random)));
    const std::vector<pid_t> held = hold_up_orphans();
    const bool is_late = !held.empty() && claim_holder(path) == ClaimHolder::None;
    if (is_late) {
      ++late;
      EXPECT_EQ(carry_out(order), "done 1 the command ended with status 0");
      remove_claim(path);
    }
    for (const pid_t shell : held) ::kill(shell, SIGCONT);
    if (!is_late) carry_out(order);
    await_orphans();
    ASSERT_EQ(runs(), round + 1) << round;
  }
}

TEST_F(ActionClaimsTest, a_stop_is_requested_whatever_number_of_queues_was_killed_at_it) {
  ActionOrder order = order_of({.kind = Action::Kind::Stop});
  std::filesystem::create_directories(file("claims"));
  for (int attempt = 1; attempt <= 5; ++attempt)
    ASSERT_TRUE(take_claim(claim_path(file("claims"), order.incident, attempt)));
  order.taken_before = true;
  EXPECT_EQ(carry_out(order), "done 1 stop_training was written");
  EXPECT_EQ(carry_out(order), "done 1 was done by an earlier watch");
}

TEST_F(ActionClaimsTest, each_attempt_of_a_failing_command_runs_once_whenever_its_queue_is_killed) {
  std::minstd_rand random(8);
  std::uniform_int_distribution<int> instant(0, 20'000);
  for (int round = 0; round < 50; ++round) {
    const std::string runs_file = file("runs" + std::to_string(round));
    const ActionOrder order =
        exec("echo x >> " + runs_file + "; test $(wc -l < " + runs_file + ") -ge 2",
             std::to_string(round));
    for (int kill = 0; kill < 2; ++kill)
      kill_while_carrying_out(order, std::chrono::microseconds(instant(random)));
    EXPECT_EQ(carry_out(order), "done 2 the command ended with status 0") << round;
    await_orphans();
    ASSERT_EQ(text_of(runs_file), "x\nx\n") << round;
  }
}

TEST_F(ActionClaimsTest, a_command_that_goes_on_after_the_kill_is_waited_for) {
  // It waits for a file that is there only when the second queue follows the claim.
  const ActionOrder order = exec("echo $$ > " + file("begun") + "; while ! test -e " + file("go") +
                                 "; do sleep 0.01; done; echo x >> " + file("runs") + "; exit 3");
  const pid_t child = ::fork();
  if (child == 0) {
    ActionQueue queue(options_, [](const ActionQueue::Outcome&) {});
    queue.add(order);
    queue.close(60s);
    ::_exit(0);
  }
  while (!std::filesystem::exists(file("begun"))) {
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  options_.attempts = 1;
  queue().add(order);
  scratch_.add_to_file("go", "");
  EXPECT_THAT(closed(60s), ::testing::ElementsAre("failed 1 the command ended with status 3"));
  await_orphans();
  EXPECT_EQ(runs(), 1);
}

TEST_F(ActionClaimsTest, a_command_whose_shell_was_killed_is_not_run_again) {
  const ActionOrder order = exec("echo x >> " + file("runs") + "; kill -9 $PPID");
  for (int time = 0; time < 2; ++time)
    EXPECT_THAT(carry_out(order), AllOf(StartsWith("failed 1"), HasSubstr("not run again")));
  EXPECT_EQ(runs(), 1);
}

TEST_F(ActionClaimsTest, a_command_that_takes_too_long_for_a_claim_is_told_and_left_alone) {
  scratch_.add_to_file("claims/slow.1.claim", std::to_string(::getpid()) + "\n");
  ActionOrder order = exec("echo x >> " + file("runs"), "slow");
  order.action.timeout = 50ms;
  EXPECT_THAT(carry_out(std::move(order)), AllOf(StartsWith("failed 1"), HasSubstr("still runs")));
  EXPECT_EQ(runs(), 0);
}

TEST_F(ActionClaimsTest, damaged_claims_run_nothing_and_hang_nobody) {
  for (const char* text :
       {"", "x\n", "0\n", "-1\n", "99999999999999999999\n", "12345678901234567"}) {
    std::filesystem::remove_all(file("claims"));
    scratch_.add_to_file("claims/a.1.claim", text);
    EXPECT_THAT(carry_out(exec("echo x >> " + file("runs"), "a")),
                AllOf(StartsWith("failed 1"), HasSubstr("not run again")))
        << text;
  }
  EXPECT_EQ(runs(), 0);
}

TEST_F(ActionClaimsTest, a_damaged_end_is_no_success) {
  for (const char* text : {"", "0", "x\n", "-1\n", "256\n"}) {
    std::filesystem::remove_all(file("claims"));
    scratch_.add_to_file("claims/a.1.claim", "1\n");
    scratch_.add_to_file("claims/a.1.done", text);
    EXPECT_THAT(carry_out(exec("echo x >> " + file("runs"), "a")), StartsWith("failed 1"));
  }
  EXPECT_EQ(runs(), 0);
}

TEST_F(ActionClaimsTest, a_finished_order_is_told_again_and_not_done_again) {
  const ActionOrder order = exec("echo x >> " + file("runs"));
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(carry_out(order), "done 1 the command ended with status 0");
  EXPECT_EQ(runs(), 1);
}

TEST_F(ActionClaimsTest, incidents_of_any_name_have_claims_of_their_own_within_the_directory) {
  const std::string word(300, 'n');
  for (const std::string& incident :
       {std::string("../../escape"), std::string("..%2f..%2fescape"), std::string("a b\n\xff"),
        std::string("."), std::string(), word + "1", word + "2"})
    EXPECT_THAT(carry_out(exec("echo x >> " + file("runs"), incident)), StartsWith("done 1"))
        << incident;
  EXPECT_EQ(runs(), 7);
  const std::filesystem::directory_iterator claims(file("claims"));
  EXPECT_EQ(std::distance(begin(claims), end(claims)), 21);  // an order, a claim and an end each
}

TEST_F(ActionClaimsTest, a_command_is_not_run_where_it_cannot_be_claimed) {
  scratch_.add_to_file("claims", "a file in the way");
  EXPECT_THAT(carry_out(exec("echo x >> " + file("runs"))), StartsWith("failed 3"));
  EXPECT_EQ(runs(), 0);
}

TEST_F(ActionClaimsTest, a_fifo_or_socket_in_place_of_a_claim_is_refused_without_waiting) {
  scratch_.add_to_file("claims/something", "");
  for (const char* const name : {"claims/fifo.1.claim", "claims/fifo.1.done"})
    ASSERT_EQ(::mkfifo(file(name).c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", file("claims/device.1.done"));
  EXPECT_THAT(carry_out(exec("echo x >> " + file("runs"), "fifo")),
              AllOf(StartsWith("failed"), HasSubstr("not a regular file")));
  EXPECT_THAT(carry_out(order_of({.kind = Action::Kind::Stop}, "fifo")),
              AllOf(StartsWith("failed"), HasSubstr("not a regular file")));
  EXPECT_THAT(carry_out(order_of({.kind = Action::Kind::Stop}, "device")),
              AllOf(StartsWith("failed"), HasSubstr("not a regular file")));
  ActionOrder taken = webhook("http://127.0.0.1:1/", "fifo");
  taken.taken_before = true;
  EXPECT_THAT(carry_out(taken), AllOf(StartsWith("failed"), HasSubstr("not a regular file")));
  EXPECT_EQ(runs(), 0);
}

TEST_F(ActionClaimsTest, a_signal_is_sent_at_most_once) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const Action action{.kind = Action::Kind::Signal, .process = child, .signal = SIGCONT};
  EXPECT_THAT(carry_out(order_of(action)), StartsWith("done 1 sent"));
  EXPECT_EQ(carry_out(order_of(action)), "done 1 was done by an earlier watch");
  scratch_.add_to_file("claims/killed.1.claim", "1");
  const Action deadly{.kind = Action::Kind::Signal, .process = child, .signal = SIGKILL};
  EXPECT_THAT(carry_out(order_of(deadly, "killed")),
              AllOf(StartsWith("failed 1"), HasSubstr("not sent again")));
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace cupel::testing
