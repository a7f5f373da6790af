// Kills a training process at random instants and looks at what it left: every step it had
// acknowledged is there with its exact values, and nothing is there that it did not save.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <string>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"
#include "saved_values.h"

namespace cupel::crash {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

enum Place { kSaving, kNextStep, kSealing, kClosing, kElsewhere, kPlaces };
constexpr std::array<const char*, kPlaces> kPlaceNames = {"in a save", "at a step's end",
                                                          "while sealing", "in close", "elsewhere"};

Place place_of(const Whereabouts& whereabouts) {
  switch (whereabouts.phase.load()) {
    case Phase::Closing:
      return kClosing;
    case Phase::Saving:
      return whereabouts.sealing ? kSealing : kSaving;
    case Phase::NextStep:
      return whereabouts.sealing ? kSealing : kNextStep;
    case Phase::Outside:
      return whereabouts.sealing ? kSealing : kElsewhere;
  }
  return kElsewhere;
}

class TrainerProcess {
 public:
  TrainerProcess(const fs::path& directory, const char* option) {
    const int memory = ::memfd_create("whereabouts", 0);
    if (memory < 0 || ::ftruncate(memory, sizeof(Whereabouts)) != 0)
      throw std::runtime_error("memfd");
    void* mapped =
        ::mmap(nullptr, sizeof(Whereabouts), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    whereabouts_ = new (mapped) Whereabouts();
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error("pipe");
    const std::string ack = std::to_string(pipe[1]), where = std::to_string(memory);
    process_ = ::fork();
    if (process_ == 0) {
      ::close(pipe[0]);
      ::execl(CUPEL_TRAINER, CUPEL_TRAINER, directory.c_str(), ack.c_str(), where.c_str(), option,
              nullptr);
      ::_exit(127);
    }
    ::close(pipe[1]);
    ::close(memory);
    acknowledgements_ = pipe[0];
  }
  ~TrainerProcess() {
    ::close(acknowledgements_);
    ::munmap(whereabouts_, sizeof(Whereabouts));
  }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  const Whereabouts& whereabouts() const { return *whereabouts_; }

  // Waits (busily, to hit short phases) until the condition holds; false if the process ended
  // first.
  template <class Condition>
  bool spin_until(Condition&& condition) {
    while (!condition()) {
      if (::waitpid(process_, &status_, WNOHANG) == process_) return false;
    }
    return true;
  }
  void kill() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
  }
  bool was_killed() const { return WIFSIGNALED(status_); }
  int status() const { return status_; }

  // The last acknowledged step; kClosed if close() was.
  std::int64_t last_acknowledged() const {
    std::int64_t last = -1, next = 0;
    while (::read(acknowledgements_, &next, sizeof next) == sizeof next) last = next;
    return last;
  }

 private:
  Whereabouts* whereabouts_;
  pid_t process_;
  int status_ = 0;
  int acknowledgements_;
};

// What is wrong with the run that a killed trainer left; "" if nothing is.
std::string examine(const fs::path& directory, std::int64_t acknowledged, std::int64_t begun) {
  const std::int64_t must_have = acknowledged == kClosed ? kSteps - 1 : acknowledged;
  try {
    const auto trial = create_trial(directory.string());
    const auto steps = trial->steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] != static_cast<std::int64_t>(i))
        return "steps have a gap before " + std::to_string(steps[i]);
      if (steps[i] > begun) return "a phantom step: " + std::to_string(steps[i]);
    }
    const auto present = static_cast<std::int64_t>(steps.size()) - 1;
    if (present < must_have) {
      return "acknowledged " + std::to_string(must_have) + ", there are steps up to " +
             std::to_string(present);
    }
    for (const std::int64_t step : steps) {
      if (trial->tensor_names({.step = step}).size() != saved_tensors().size() + 1) {
        return "step " + std::to_string(step) + " lacks tensors";
      }
      for (const SavedTensor& tensor : saved_tensors()) {
        const TensorValue value = trial->tensor(tensor.name).value(step);
        const auto expected = value_of(tensor, step);
        if (!std::ranges::equal(value.as<float>(), expected))
          return "a wrong value of " + std::string(tensor.name);
      }
      if (trial->tensor("loss").value(step).at(0) != static_cast<double>(step) + 0.5)
        return "a wrong loss";
    }
    if (acknowledged == kClosed && !trial->ended()) return "closed, but the run has not ended";
  } catch (const MissingCollectionFiles&) {
    if (must_have >= 0)
      return "no run, but step " + std::to_string(must_have) + " was acknowledged";
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Killing : public ::testing::Test {
 protected:
  Killing()
      : directory_(fs::temp_directory_path() / ("cupel-kill-" + std::to_string(::getpid()))) {}
  ~Killing() override { fs::remove_all(directory_); }

  fs::path directory_;
  std::mt19937_64 random_{static_cast<std::uint64_t>(
      std::getenv("CUPEL_KILL_SEED") != nullptr ? std::atoll(std::getenv("CUPEL_KILL_SEED"))
                                                : Clock::now().time_since_epoch().count())};
};

// How long after the process came to a place a kill may strike, so that kills fall everywhere in
// it.
std::chrono::microseconds longest_delay(Place place) {
  switch (place) {
    case kSaving:
      return std::chrono::microseconds(60);
    case kSealing:
      return std::chrono::microseconds(1500);
    default:
      return std::chrono::microseconds(400);
  }
}

// A run, and the processes that write it one after another.
struct Life {
  fs::path run = {};
  int kills = 0;
  std::int64_t begun = 0;          // the steps that were begun
  std::int64_t acknowledged = -1;  // the last one, whichever process said so
  const char* option = nullptr;    // of its trainers
};
constexpr int kMostKills = 5;

// Each round aims at the place that was hit least, from a random step on, and strikes after a
// random moment; where it really fell is read from where the process had come. Half of the killed
// are followed by a process that goes on in the same run.
TEST_F(Killing, at_any_instant_loses_no_acknowledged_step_and_shows_nothing_else) {
  static constexpr std::array kAims = {kSaving, kNextStep, kSealing, kClosing};
  const char* rounds_text = std::getenv("CUPEL_KILL_ROUNDS");
  const int wanted = rounds_text != nullptr ? std::atoi(rounds_text) : 200;
  std::array<int, kPlaces> fell{};
  const auto hit_least = [&] {
    return *std::min_element(kAims.begin(), kAims.end(),
                             [&](Place a, Place b) { return fell[a] < fell[b]; });
  };
  int kills = 0, restarts = 0, ended = 0;
  Life life;
  for (int round = 0; kills < wanted || fell[hit_least()] * 10 < kills; ++round) {
    ASSERT_LT(round, 4 * wanted) << "the kills do not fall where they are aimed";
    const bool goes_on = life.kills > 0 && life.kills < kMostKills && random_() % 2 == 0;
    if (!goes_on) {
      fs::remove_all(life.run);
      life = Life{.run = directory_ / std::to_string(round),
                  .option = random_() % 2 == 0 ? "--ended" : nullptr};
      ended += life.option != nullptr ? 1 : 0;
    }
    restarts += goes_on ? 1 : 0;
    TrainerProcess trainer(life.run, life.option);
    const Place aim = hit_least();
    const std::int64_t first = std::min(life.begun, kSteps - 11);
    const auto from_step =
        aim == kClosing ? kSteps - 1
                        : first + static_cast<std::int64_t>(
                                      random_() % static_cast<std::uint64_t>(kSteps - 10 - first));
    const auto delay = std::chrono::microseconds(
        random_() % static_cast<std::uint64_t>(longest_delay(aim).count()));
    trainer.spin_until([&] {
      return trainer.whereabouts().step >= from_step && place_of(trainer.whereabouts()) == aim;
    });
    const auto until = Clock::now() + delay;
    trainer.spin_until([&] { return Clock::now() >= until; });
    trainer.kill();
    if (trainer.was_killed()) {
      ++kills;
      ++life.kills;
      ++fell[place_of(trainer.whereabouts())];
    } else {
      ASSERT_EQ(trainer.status(), 0);
      life.kills = kMostKills;
    }
    life.begun = std::max(life.begun, trainer.whereabouts().step + 1);
    const std::int64_t acknowledged = trainer.last_acknowledged();
    life.acknowledged =
        acknowledged == kClosed ? kClosed : std::max(life.acknowledged, acknowledged);
    ASSERT_EQ(examine(life.run, life.acknowledged, life.begun), "")
        << "round " << round << " in " << life.run;
  }
  std::string report = std::to_string(kills) + " kills, " + std::to_string(restarts) +
                       " of them of a process that went on, " + std::to_string(ended) +
                       " runs of steps that the trainer ended, fell:";
  for (std::size_t place = 0; place < kPlaces; ++place) {
    report += std::string(" ") + kPlaceNames[place] + " " + std::to_string(fell[place]);
  }
  std::printf("%s\n", report.c_str());
  RecordProperty("kills", report);
}

TEST_F(Killing, is_noticed_when_the_index_entry_is_written_before_its_values) {
  int noticed = 0;
  for (int round = 0; round < 10; ++round) {
    const fs::path run = directory_ / ("reversed-" + std::to_string(round));
    TrainerProcess trainer(run, "--reversed");
    trainer.spin_until([&] {
      return trainer.whereabouts().step >= 3 &&
             trainer.whereabouts().between_index_and_values.load();
    });
    trainer.kill();
    if (!examine(run, trainer.last_acknowledged(), trainer.whereabouts().step + 1).empty())
      ++noticed;
  }
  EXPECT_GE(noticed, 5);
}

TEST_F(Killing, does_not_happen_to_a_trainer_that_is_left_alone) {
  for (const char* const option : {static_cast<const char*>(nullptr), "--ended"}) {
    const fs::path run = directory_ / (option == nullptr ? "whole" : option);
    TrainerProcess trainer(run, option);
    EXPECT_FALSE(trainer.spin_until([] { return false; }));
    EXPECT_EQ(trainer.status(), 0);
    EXPECT_EQ(examine(run, trainer.last_acknowledged(), kSteps), "");
  }
}

}  // namespace
}  // namespace cupel::crash
