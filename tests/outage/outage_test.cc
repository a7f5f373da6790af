// The server of a bucket is gone for a while, and training processes are killed: what they had
// acknowledged is in the bucket in the end, as another client reads it.
//
// CUPEL_OUTAGE_ROUNDS says how many are killed. CUPEL_OUTAGE_SECONDS says how long the server is
// gone in the middle of a training; where it is set, step times are held to their budget, too
// (scripts/outage.sh).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crash/saved_values.h"
#include "cupel/core/error.h"
#include "cupel/s3/s3_scheme.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/trial.h"
#include "cupel/trial/verify_run.h"
#include "outage/saving.h"
#include "process/program.h"
#include "s3/s3_server.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel::outage {
namespace {

using Clock = std::chrono::steady_clock;
using ::testing::HasSubstr;

// The steps that a trainer has acknowledged.
class Trainer {
 public:
  explicit Trainer(const std::vector<std::string>& arguments) : program_(command(arguments)) {}

  // Waits until it has acknowledged so many more; false if it ended first.
  bool await(int steps) {
    for (int i = 0; i < steps; ++i)
      if (!read()) return false;
    return true;
  }
  // Waits until it ends by itself.
  int end() {
    while (read()) {
    }
    return program_.end();
  }
  void kill() {
    program_.kill();
    while (read()) {
    }
  }
  bool closed() const { return closed_; }
  std::int64_t last() const { return last_; }

 private:
  static std::vector<std::string> command(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {CUPEL_OUTAGE_TRAINER};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  bool read() {
    const std::string line = program_.read_line();
    if (line.empty()) return false;
    if (line == "closed") {
      closed_ = true;
    } else {
      last_ = std::stoll(line);
    }
    return true;
  }

  Program program_;
  std::int64_t last_ = -1;
  bool closed_ = false;
};

struct Synced {
  int code = -1;
  nlohmann::json json;
};

// A server with a bucket, and the spools of who saves to it.
class Site {
 public:
  explicit Site(testing::EnvironmentGuard& environment) : environment_(environment) { begin_run(); }

  testing::S3Server& server() { return server_; }
  // From now on another bucket and other spools are meant.
  void begin_run() {
    bucket_ = server_.make_bucket();
    spools_.emplace();
  }
  std::string url() const { return "s3://" + bucket_ + "/run"; }
  // What a trainer is told.
  std::vector<std::string> training(double seconds, int segment_ms) {
    enter();
    return {url(), spools_->path(), std::to_string(seconds), std::to_string(segment_ms)};
  }
  std::unique_ptr<Program> start_sync() {
    enter();
    return std::make_unique<Program>(
        std::vector<std::string>{CUPEL_COMMAND, "sync", spools_->path(), "--json"});
  }
  Synced sync() {
    const auto program = start_sync();
    const std::string line = program->read_line();
    return {program->end(), nlohmann::json::parse(line, nullptr, false)};
  }

  // What is wrong with what is in the bucket; "" if the run has at least the steps up to
  // `acknowledged`.
  std::string defect(std::int64_t acknowledged, bool ended) {
    enter();
    const testing::ScratchDirectory copy;
    for (const auto& [name, bytes] : server_.curl().objects(bucket_))
      if (name.starts_with("run/")) copy.add_to_file(name.substr(4), bytes);
    try {
      for (const VerifyFinding& found : verify_run(LocalStore(copy.path()), {}).findings)
        if (ended || found.severity == VerifyFinding::Severity::Damage)
          return found.file + ": " + found.problem;
      const auto trial = create_trial(copy.path());
      if (create_trial(url(), {.schemes = {s3_scheme()}})->steps() != trial->steps())
        return "another client sees other steps";
      if (trial->ended() != ended) return ended ? "it has not ended" : "it has ended";
      return defect_of_steps(*trial, acknowledged);
    } catch (const Error& error) {
      return error.what();
    }
  }

 private:
  // Processes that are started now, and stores that are opened, are to find this server.
  void enter() { environment_.set("AWS_ENDPOINT_URL_S3", server_.endpoint()); }

  static std::string defect_of_steps(const Trial& trial, std::int64_t acknowledged) {
    const auto steps = trial.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] != static_cast<std::int64_t>(i) * kInterval)
        return "a gap before step " + std::to_string(steps[i]);
      for (const crash::SavedTensor& tensor : crash::saved_tensors()) {
        const TensorValue value = trial.tensor(tensor.name).value(steps[i]);
        if (!std::ranges::equal(value.as<float>(), crash::value_of(tensor, steps[i])))
          return "a wrong value of " + std::string(tensor.name);
      }
    }
    const std::int64_t last = steps.empty() ? -1 : steps.back();
    if (last >= acknowledged) return "";
    return "acknowledged " + std::to_string(acknowledged) + ", there is " + std::to_string(last);
  }

  testing::EnvironmentGuard& environment_;
  testing::S3Server server_;
  std::string bucket_;
  std::optional<testing::ScratchDirectory> spools_;
};

class Outage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::S3Server::is_possible())
      GTEST_SKIP() << "node or the S3 server's package is not here";
    site_.emplace(environment_);
  }
  Site& site() { return *site_; }
  testing::S3Server& server() { return site_->server(); }
  int below(int most) { return static_cast<int>(random_() % static_cast<std::uint64_t>(most)); }

  testing::EnvironmentGuard environment_;

 private:
  std::optional<Site> site_;
  std::mt19937_64 random_{static_cast<std::uint64_t>(
      std::getenv("CUPEL_OUTAGE_SEED") != nullptr ? std::atoll(std::getenv("CUPEL_OUTAGE_SEED"))
                                                  : Clock::now().time_since_epoch().count())};
};

TEST_F(Outage, a_training_that_is_killed_at_any_instant_is_delivered_by_sync) {
  const char* const rounds = std::getenv("CUPEL_OUTAGE_ROUNDS");
  const int wanted = rounds != nullptr ? std::atoi(rounds) : 8;
  std::uint64_t delivered = 0, interrupted = 0;
  for (int round = 0; round < wanted; ++round) {
    site().begin_run();
    const bool in_outage = round % 2 == 0;
    Trainer trainer(site().training(600, 20 + below(100)));
    ASSERT_TRUE(trainer.await(1 + below(20)));
    if (in_outage) {
      server().stop();
      ASSERT_TRUE(trainer.await(1 + below(20)));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(below(20'000)));
    trainer.kill();
    if (in_outage) server().start();
    if (round % 4 < 2) {  // which may be killed as well
      const auto first = site().start_sync();
      std::this_thread::sleep_for(std::chrono::milliseconds(below(300)));
      interrupted += first->kill() ? 1 : 0;
    }
    const Synced synced = site().sync();
    ASSERT_EQ(synced.code, 0) << synced.json;
    for (const auto& directory : synced.json["directories"])
      delivered += directory["segments"].get<std::uint64_t>();
    ASSERT_EQ(site().defect(trainer.last(), false), "") << "round " << round;
    ASSERT_EQ(site().sync().json["directories"].size(), 0U) << "nothing is left";
  }
  std::printf("%d trainings killed, sync itself %d times; it delivered %d segments\n", wanted,
              static_cast<int>(interrupted), static_cast<int>(delivered));
  EXPECT_GT(delivered, 0U);
}

// How long the steps of a training took that began in a window.
std::vector<double> milliseconds_in(const std::string& times_file, Clock::time_point from,
                                    Clock::time_point to) {
  std::vector<double> took;
  std::ifstream file(times_file);
  for (std::int64_t began = 0, nanoseconds = 0; file >> began >> nanoseconds;) {
    const Clock::time_point at{Clock::duration(began)};
    if (at >= from && at < to) took.push_back(static_cast<double>(nanoseconds) / 1e6);
  }
  std::ranges::sort(took);
  return took;
}

double quantile(const std::vector<double>& sorted, double at) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(at * double(sorted.size() - 1))];
}

// Two trainings at the same time, so that both see the same machine; the server of one is stopped.
TEST_F(Outage, of_the_server_is_not_noticed_by_the_training_and_all_of_it_is_there_afterwards) {
  const char* const asked = std::getenv("CUPEL_OUTAGE_SECONDS");
  const std::chrono::duration<double> gone(asked != nullptr ? std::atof(asked) : 1);
  const int segment_ms = asked != nullptr ? 10'000 : 200;
  const testing::ScratchDirectory scratch;
  const auto training_at = [&](Site& at, const std::string& times) {
    std::vector<std::string> arguments = at.training(2 * gone.count(), segment_ms);
    arguments.push_back(times);
    return std::make_unique<Trainer>(arguments);
  };
  const auto expect_whole = [](Site& at, Trainer& trainer) {
    EXPECT_EQ(trainer.end(), 0);
    EXPECT_TRUE(trainer.closed());
    EXPECT_EQ(at.defect(trainer.last(), true), "");
    EXPECT_EQ(at.sync().json["directories"].size(), 0U) << "nothing is left";
  };
  const std::string with = (scratch / "with").string(), without = (scratch / "without").string();
  const auto trainer = training_at(site(), with);
  std::optional<Site> steady_site;
  std::unique_ptr<Trainer> steady;
  if (asked != nullptr) steady = training_at(steady_site.emplace(environment_), without);
  ASSERT_TRUE(trainer->await(1));

  std::this_thread::sleep_for(gone / 2);
  server().stop();
  const auto stopped = Clock::now();
  std::this_thread::sleep_for(gone / 2);
  const Synced refused = site().sync();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.json.dump(), HasSubstr("another process is writing this run"));
  std::this_thread::sleep_until(stopped + gone);
  const auto started = Clock::now();
  server().start();
  expect_whole(site(), *trainer);
  if (asked == nullptr) return;

  expect_whole(*steady_site, *steady);
  std::printf("%-36s %6s %8s %8s %8s %8s\n", "milliseconds of a step", "steps", "p50", "p90", "p99",
              "longest");
  const auto print = [](const char* what, const std::vector<double>& took) {
    std::printf("%-36s %6d %8.3f %8.3f %8.3f %8.3f\n", what, static_cast<int>(took.size()),
                quantile(took, 0.5), quantile(took, 0.9), quantile(took, 0.99), quantile(took, 1));
    return quantile(took, 0.99);
  };
  const auto forever = Clock::time_point::max();
  const double p99 = print("while its server is gone", milliseconds_in(with, stopped, started));
  const double p99_of_steady =
      print("another's meanwhile, with a server", milliseconds_in(without, stopped, started));
  print("the first before the outage", milliseconds_in(with, {}, stopped));
  print("the other meanwhile", milliseconds_in(without, {}, stopped));
  print("the first behind the outage", milliseconds_in(with, started, forever));
  print("the other meanwhile", milliseconds_in(without, started, forever));
  std::printf("p99 in the outage: %.3f of that without one\n", p99 / p99_of_steady);
  EXPECT_LE(p99, 1.05 * p99_of_steady);
}

TEST_F(Outage, that_lasts_is_told_by_sync_which_loses_nothing) {
  Trainer trainer(site().training(600, 50));
  ASSERT_TRUE(trainer.await(5));
  server().stop();
  ASSERT_TRUE(trainer.await(5));
  trainer.kill();
  const Synced failed = site().sync();
  EXPECT_EQ(failed.code, 2);
  EXPECT_FALSE(failed.json["ok"].get<bool>());
  EXPECT_THAT(failed.json["directories"][0]["problems"].dump(), HasSubstr("bucket-1"));
  server().start();
  EXPECT_EQ(site().sync().code, 0);
  EXPECT_EQ(site().defect(trainer.last(), false), "");
}

}  // namespace
}  // namespace cupel::outage
