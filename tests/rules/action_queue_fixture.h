#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../../rules/src/action_queue.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel::testing {

using namespace rules_detail;
using namespace std::chrono_literals;

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A firing of VanishingGradient at step 120 of a run.
inline ActionOrder order_of(Action action, std::string incident = "vg/120/0") {
  ActionOrder order;
  order.action = std::move(action);
  order.incident = std::move(incident);
  order.line.time = "2026-01-02T03:04:05.678Z";
  order.line.trial = "mnist";
  order.line.rule = "VanishingGradient";
  order.line.name = "vg";
  order.line.step = 120;
  order.line.mode = Mode::Train;
  order.line.mode_step = 60;
  order.line.tensors = {{"gradient/fc1", "worker_0", 0, 1e-7, "abs_mean 0 < 1e-07"}};
  order.line.message = "gradient/fc1: abs_mean 0 < 1e-07";
  return order;
}

inline ActionOrder exec(std::string command, std::string incident = "vg/120/0") {
  return order_of({.kind = Action::Kind::Exec, .target = std::move(command)}, std::move(incident));
}
inline ActionOrder webhook(std::string url, std::string incident = "vg/120/0") {
  return order_of({.kind = Action::Kind::Webhook, .target = std::move(url)}, std::move(incident));
}

/// A queue whose retries follow at once, and what it has told.
class ActionQueueTest : public ::testing::Test {
 protected:
  ActionQueueTest() {
    environment_.set("no_proxy", "127.0.0.1");
    environment_.unset("CUPEL_MAIL_COMMAND");
    environment_.unset("CUPEL_SMS_COMMAND");
    options_.performer.run = (scratch_ / "run").string();
    options_.first_delay = 1ms;
  }

  void keep_claims() { options_.performer.claims_directory = (scratch_ / "claims").string(); }
  std::string file(std::string_view name) const { return (scratch_ / name).string(); }
  std::string content(std::string_view name) const { return text_of(scratch_ / name); }

  ActionQueue& queue() {
    if (!queue_)
      queue_ = std::make_unique<ActionQueue>(options_, [this](const ActionQueue::Outcome& outcome) {
        const std::lock_guard lock(mutex_);
        told_.push_back(std::string(to_string(outcome.result)) + " " +
                        std::to_string(outcome.attempts) + " " + outcome.message);
        lines_.push_back(to_text(outcome.line()));
        news_.notify_all();
      });
    return *queue_;
  }
  /// Gives the orders to a queue, closes it, and returns what it told: "done 1 the command …".
  std::vector<std::string> carry_out(std::vector<ActionOrder> orders,
                                     std::chrono::milliseconds grace = 60s) {
    for (ActionOrder& order : orders) EXPECT_TRUE(queue().add(std::move(order)));
    return closed(grace);
  }
  std::string carry_out(ActionOrder order) {
    const auto told = carry_out(std::vector{std::move(order)});
    return told.size() == 1 ? told.front() : "not told once";
  }
  /// Closes the queue; the next one is another process's, so to speak.
  std::vector<std::string> closed(std::chrono::milliseconds grace) {
    queue().close(grace);
    queue_.reset();
    return std::exchange(told_, {});
  }
  void await_outcomes(std::size_t count) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return told_.size() >= count; });
  }

  const ScratchDirectory scratch_;
  EnvironmentGuard environment_;
  ActionQueueOptions options_;
  std::vector<std::string> lines_;

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::string> told_;
  std::unique_ptr<ActionQueue> queue_;
};

}  // namespace cupel::testing
