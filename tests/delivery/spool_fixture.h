#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupel/delivery/deliver_spool.h"
#include "store/wrapped_store.h"
#include "writer/hook_fixture.h"

namespace cupel {

// Hooks that write to a spool, what becomes of it, and trials of what has been uploaded.
class SpoolTest : public HookTest {
 protected:
  SpoolTest() { write_through_spool(); }
  ~SpoolTest() override { EXPECT_THAT(remote_->offences(), ::testing::IsEmpty()); }

  // Steps with a weight of so many floats, and a loss.
  static void train(Hook& hook, int steps, std::size_t floats = 100) {
    for (int i = 0; i < steps; ++i) {
      hook.next_step();
      const std::vector<float> values = ramp(floats, static_cast<float>(hook.step()));
      hook.save_tensor("fc.weight", view(values));
      hook.save_scalar("loss", static_cast<double>(hook.step()));
    }
  }
  // What is wrong with the steps that were uploaded; "" if they are those up to `last`, and whole.
  std::string defect(std::int64_t last, std::size_t size = 100) const {
    const auto trial = open_trial();
    const auto steps = trial->steps();
    if (static_cast<std::int64_t>(steps.size()) != last + 1)
      return "there are " + std::to_string(steps.size()) + " steps";
    for (std::int64_t step = 0; step <= last; ++step) {
      if (steps[static_cast<std::size_t>(step)] != step) return "other steps";
      if (floats(trial->tensor("fc.weight").value(step)) != ramp(size, static_cast<float>(step)))
        return "a wrong weight at step " + std::to_string(step);
      if (trial->tensor("loss").value(step).at(0) != static_cast<double>(step))
        return "a wrong loss";
    }
    return "";
  }

  // Nothing can be put, as in an outage that others do not see.
  void fail_puts(const std::string& why, bool retryable = true) {
    remote_->before([=](std::string_view what, std::string_view key) {
      if (what == "put") throw StoreError(std::string(key), retryable, why);
    });
  }

  std::string spool_directory(const std::string& worker = "worker_0") const {
    return Spool::directory_of(options.spool_dir, {remote_->location(), worker});
  }
  bool has_spool(const std::string& worker = "worker_0") const {
    return std::filesystem::exists(spool_directory(worker));
  }
  // As `cupel sync` does it.
  DeliverReport deliver(const std::string& worker = "worker_0", const std::string& stays = {}) {
    DeliverOptions how;
    how.schemes = {{"s3", [this](std::string_view) {
                      return std::make_unique<testing::WrappedStore>(remote_);
                    }}};
    how.upload.first_pause = std::chrono::milliseconds(1);
    how.patience = std::chrono::milliseconds(200);
    how.stays = stays;
    return deliver_spool(spool_directory(worker), how);
  }
  // Another connection to the same store: the one before was interrupted.
  void connect_again() { remote_ = std::make_shared<testing::FakeRemote>(store); }
};

}  // namespace cupel
