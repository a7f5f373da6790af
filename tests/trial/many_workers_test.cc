// Sixty-four workers write one run through hooks of their own, in threads that take turns over
// them: some are slow, some die in the middle of a write, some of those begin again and go back a
// few steps. Beside them readers ask one trial, views of it among them, and compare each answer
// with what the workers had surely committed before the question, and with what they can have begun
// by the time of the answer.
//
// What a worker does follows from the seed, which a failure names; in which order the threads come
// is the system's choice. To run for longer, and to begin with a seed:
//
//     CUPEL_WORKERS_SECONDS=60 CUPEL_WORKERS_SEED=7 trial_test --gtest_filter='ManyWorkers.*'

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "cupel/writer/hook.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::size_t kWorkers = 64;
constexpr std::int64_t kStepsOfEach = 30;
constexpr std::size_t kMostLives = 4;
constexpr std::int64_t kEverything = kStepsOfEach + 1;
constexpr std::array<std::size_t, 2> kSizes = {24, 6};  // in an events file, in the index
constexpr std::array<const char*, 2> kTensors = {"w", "bias"};

std::uint64_t mixed(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (const std::uint64_t part : parts) {
    hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32U;
  }
  return hash;
}

/// The first element says in which of its lives the worker saved it.
std::vector<float> value_of(std::uint64_t seed, std::size_t worker, std::size_t life,
                            std::int64_t step, std::size_t tensor) {
  std::vector<float> values(kSizes[tensor]);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(
        mixed({seed, worker, life, static_cast<std::uint64_t>(step), tensor, i}) >> 40U);
  values[0] = static_cast<float>(life);
  return values;
}

bool saves(std::uint64_t seed, std::size_t worker, std::int64_t step) {
  return worker == 0 || mixed({seed, worker, static_cast<std::uint64_t>(step)}) % 5 != 0;
}

std::string name_of(std::size_t worker) { return "worker_" + std::to_string(worker); }

/// A store whose writer is killed at a given call: an append is cut off, and nothing follows.
class MortalStore final : public StoreWrapper {
 public:
  MortalStore(const std::shared_ptr<Store>& inner, std::int64_t calls, double part)
      : StoreWrapper(inner), calls_(calls), part_(part) {}

  bool is_dead() const { return dead_; }

  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    if (dies()) throw StoreError(std::string(key), false, "killed");
    StoreWrapper::put(key, bytes, durability);
  }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    if (dead_) throw StoreError(std::string(key), false, "killed");
    if (!dies()) return StoreWrapper::append(key, size, pieces);
    std::vector<std::byte> all;
    for (const auto& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
    all.resize(static_cast<std::size_t>(static_cast<double>(all.size()) * part_));
    if (!all.empty()) StoreWrapper::append(key, size, std::vector{std::span<const std::byte>(all)});
    throw StoreError(std::string(key), false, "killed");
  }
  void remove(std::string_view key) override {
    if (dies()) throw StoreError(std::string(key), false, "killed");
    StoreWrapper::remove(key);
  }

 private:
  bool dies() {
    if (!dead_ && calls_ >= 0 && calls_-- == 0) dead_ = true;
    return dead_;
  }

  std::atomic<std::int64_t> calls_;  // left; below 0: it does not die
  const double part_;                // of the last append that is written
  std::atomic<bool> dead_ = false;
};

/// What is known of a worker from outside: written before it begins something, and after it was
/// told that something is committed.
struct Ledger {
  std::atomic<std::int64_t> committed = -1, begun = -1, farthest = -1;
  std::atomic<std::size_t> life = 0;     // that may have begun to write
  std::atomic<std::size_t> settled = 0;  // the last life that has surely committed something
  std::array<std::atomic<std::int64_t>, kMostLives> starts{};

  void begin(std::int64_t step) {
    begun = step;
    if (farthest < step) farthest = step;
  }
};
using Ledgers = std::array<Ledger, kWorkers>;

class Worker {
 public:
  Worker(std::size_t number, std::uint64_t seed, std::shared_ptr<Store> store, Ledger& ledger)
      : number_(number),
        seed_(seed),
        random_(mixed({seed, number})),
        store_(std::move(store)),
        ledger_(ledger) {}

  bool stays_dead = false;
  bool is_slow() const { return number_ % 8 == 3; }

  /// One step, or what comes between two lives; false when there is nothing more to do.
  bool go_on() {
    if (is_lost_) return false;
    if (!hook_) {
      live();
      return true;
    }
    if (step_ == kStepsOfEach) {
      ledger_.begin(kEverything);
      hook_->close();
      hook_.reset();
      if (die_if_killed()) return true;
      ledger_.committed = kEverything;
      ledger_.settled = life_;
      return false;
    }
    if (saves(seed_, number_, step_)) {
      ledger_.begin(step_);
      for (std::size_t tensor = 0; tensor < kTensors.size(); ++tensor) {
        const auto values = value_of(seed_, number_, life_, step_, tensor);
        hook_->save_tensor(kTensors[tensor], TensorView(values.data(), {values.size()}));
      }
    }
    ++step_;
    hook_->next_step();
    acknowledge();
    die_if_killed();
    return true;
  }

 private:
  // The chief lives: when it begins again it takes it that nobody has ended.
  void live() {
    const bool mortal = number_ != 0 && number_ % 3 == 1 && life_ + 1 < kMostLives;
    const std::int64_t calls = mortal ? static_cast<std::int64_t>(5 + random_() % 40) : -1;
    mortal_ =
        std::make_shared<MortalStore>(store_, calls, static_cast<double>(random_() % 101) / 100);
    HookOptions options;
    options.include_workers = "all";
    options.worker = name_of(number_);
    options.num_workers = kWorkers;
    options.save_all = true;
    options.save_config = {.save_interval = 1};
    options.reduction_config = {.reductions = {"max", "mean"}, .save_raw_tensor = true};
    options.sync = Sync::Off;
    options.commit_timeout = std::chrono::hours(1);
    options.buffer_bytes = 1U << 20U;
    options.segment_bytes = 4000 + random_() % 60000;
    options.segment_age = std::chrono::hours(1);
    try {
      hook_ = std::make_unique<Hook>(options, mortal_);
      for (std::int64_t step = 0; step <= step_; ++step) hook_->next_step();
    } catch (const StoreError&) {
      hook_.reset();
    }
    die_if_killed();
  }

  void acknowledge() {
    const std::int64_t committed = hook_->committed_step();
    if (committed < 0) return;
    ledger_.committed = committed;
    ledger_.settled = life_;
  }

  /// What was killed begins its next life some steps before the last one that it knows of.
  bool die_if_killed() {
    if (!mortal_->is_dead()) return false;
    hook_.reset();
    is_lost_ = stays_dead;
    if (is_lost_) return true;
    const std::int64_t last = std::min(ledger_.committed.load(), kStepsOfEach - 1);
    step_ = std::max<std::int64_t>(0, last + 1 - static_cast<std::int64_t>(random_() % 6));
    ++life_;
    ledger_.starts[life_] = step_;
    ledger_.life = life_;
    ledger_.begin(step_ - 1);
    return true;
  }

  const std::size_t number_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  const std::shared_ptr<Store> store_;
  Ledger& ledger_;
  std::shared_ptr<MortalStore> mortal_;
  std::unique_ptr<Hook> hook_;
  std::int64_t step_ = 0;  // the next to be saved
  std::size_t life_ = 0;
  bool is_lost_ = false;
};

/// What all workers had committed when it was made.
class Question {
 public:
  explicit Question(const Ledgers& ledgers) : ledgers_(ledgers) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      settled_[i] = ledgers[i].settled;
      committed_[i] = ledgers[i].committed;
    }
  }

  struct Bounds {
    std::int64_t least = kEverything, most = kEverything;
  };
  /// Of the last complete step, to be asked after the answer.
  Bounds bounds() const {
    Bounds all;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const std::int64_t begun = ledgers_[i].begun, farthest = ledgers_[i].farthest;
      const std::size_t life = ledgers_[i].life;
      std::int64_t least = committed_[i];
      for (std::size_t next = settled_[i] + 1; next <= life; ++next)
        least = std::min<std::int64_t>(least, ledgers_[i].starts[next] - 1);
      all.least = std::min(all.least, least);
      all.most = std::min(all.most, settled_[i] == life ? begun : farthest);
    }
    return {std::min(all.least, kStepsOfEach - 1), std::min(all.most, kStepsOfEach - 1)};
  }

  /// Whether the answer may show what the worker saved at the step in that life.
  bool may_show(std::size_t worker, std::size_t life, std::int64_t step) const {
    const Ledger& ledger = ledgers_[worker];
    if (life > ledger.life || ledger.starts[life] > step) return false;
    for (std::size_t later = life + 1; later <= settled_[worker]; ++later)
      if (ledger.starts[later] <= step) return false;
    return true;
  }

  /// Whether the worker may have begun again since the last question, or has not settled since.
  bool may_have_rewound(const Question& before) const {
    for (std::size_t i = 0; i < kWorkers; ++i)
      if (before.settled_[i] != ledgers_[i].life) return true;
    return false;
  }

 private:
  const Ledgers& ledgers_;
  std::array<std::size_t, kWorkers> settled_{};
  std::array<std::int64_t, kWorkers> committed_{};
};

class ManyWorkers : public ::testing::Test {
 protected:
  ManyWorkers() {
    set_log_sink([](LogLevel, std::string_view) {});
  }  // of the killed
  ~ManyWorkers() override { set_log_sink(nullptr); }
};

/// One run with its readers.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, WatchMethod method)
      : seed_(seed), store_(std::make_shared<LocalStore>((directory_ / "run").string(), method)) {
    for (std::size_t i = 0; i < kWorkers; ++i)
      workers_.push_back(std::make_unique<Worker>(i, seed, store_, ledgers_[i]));
    if (seed % 2 == 0) workers_[kLost]->stays_dead = true;
    workers_[0]->go_on();  // so that there is a run
  }

  /// How many snapshots the readers have compared.
  int run() {
    const Trial trial(store_);
    std::atomic<int> writing = kWriters;
    {
      std::vector<std::jthread> threads;
      for (std::size_t writer = 0; writer < kWriters; ++writer)
        threads.emplace_back([&, writer] {
          write(writer);
          --writing;
        });
      threads.emplace_back([&] {
        while (writing > 0) trial.refresh();
      });
      threads.emplace_back([&] { read(trial, 1, writing); });
      threads.emplace_back([&] { read(trial, 2, writing); });
    }
    look_at_the_end(trial);
    return answers_;
  }

 private:
  static constexpr std::size_t kWriters = 2;
  static constexpr std::size_t kLost = 1;  // of even seeds; is mortal

  void write(std::size_t writer) {
    std::mt19937_64 random(mixed({seed_, kWorkers + writer}));
    std::vector<Worker*> active;
    for (std::size_t i = writer; i < kWorkers; i += kWriters) active.push_back(workers_[i].get());
    while (!active.empty()) {
      const std::size_t turn = random() % active.size();
      if (active[turn]->is_slow() && random() % 4 != 0) continue;
      if (!active[turn]->go_on()) active.erase(active.begin() + static_cast<std::ptrdiff_t>(turn));
    }
  }

  void read(const Trial& trial, std::uint64_t reader, const std::atomic<int>& writing) const {
    std::mt19937_64 random(mixed({seed_, kWorkers * 2 + reader}));
    const auto view = trial.view();
    std::optional<Question> last;
    std::shared_ptr<const Snapshot> before;
    for (bool goes_on = true; goes_on && !::testing::Test::HasFailure();) {
      goes_on = writing > 0;
      {
        const Question question(ledgers_);
        static_cast<void>(view->last_complete_step());  // looks
        const NoRefresh pin(*view);
        check(*view, question, random);
        if (before) check_rewinding(*view, *before, *last, question);
        before = RunFollower(*view).snapshot();
        ++answers_;
        last.emplace(question);
      }
      check_waiting(trial, random);
    }
  }

  /// Everything that a pinned view says.
  void check(const Trial& view, const Question& question, std::mt19937_64& random) const {
    const std::int64_t last = view.last_complete_step();
    const auto [least, most] = question.bounds();
    ASSERT_GE(last, least);
    ASSERT_LE(last, most);
    Steps expected(static_cast<std::size_t>(last + 1));
    std::iota(expected.begin(), expected.end(), 0);
    ASSERT_EQ(view.steps(), expected);
    if (last + 1 < kStepsOfEach) {
      ASSERT_EQ(view.has_passed_step(last + 1), StepState::NotYetAvailable);
    }
    // A restart hides steps and notes it; nothing else is to be noted.
    ASSERT_THAT(view.notes(), Each(Field(&Note::text, HasSubstr("hidden_steps"))));
    ASSERT_GE(view.totals().rows, static_cast<std::int64_t>(kTensors.size()) * (last + 1));
    if (last < 0) return;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t step = last - static_cast<std::int64_t>(std::min<std::uint64_t>(
                                           random() % 8, static_cast<std::uint64_t>(last)));
      ASSERT_EQ(view.has_passed_step(step), StepState::Available);
      check_missing(view, step);
      check_values(view, question, random() % kWorkers, step);
    }
  }

  void check_missing(const Trial& view, std::int64_t step) const {
    Names missing;
    for (std::size_t i = 0; i < kWorkers; ++i)
      if (!saves(seed_, i, step)) missing.push_back(name_of(i));
    ASSERT_EQ(view.missing_workers(step), missing) << "at step " << step;
  }

  void check_values(const Trial& view, const Question& question, std::size_t worker,
                    std::int64_t step) const {
    if (!saves(seed_, worker, step)) return;
    const std::string name = name_of(worker);
    for (std::size_t i = 0; i < kTensors.size(); ++i) {
      const Tensor tensor = view.tensor(kTensors[i]);
      const TensorValue value = tensor.value(step, Mode::Global, name);
      const auto found = value.as<float>();
      ASSERT_EQ(found.size(), kSizes[i]);
      const auto life = static_cast<std::size_t>(found[0]);
      ASSERT_TRUE(life < kMostLives && question.may_show(worker, life, step))
          << name << " at step " << step << " in life " << life;
      const std::vector<float> expected = value_of(seed_, worker, life, step, i);
      ASSERT_TRUE(std::ranges::equal(found, expected)) << name << " at step " << step;
      ASSERT_EQ(tensor.reduction_value(step, "max", {.worker = name}),
                *std::ranges::max_element(expected));
    }
  }

  void check_rewinding(const Trial& view, const Snapshot& before, const Question& last,
                       const Question& now) const {
    const std::optional<std::int64_t> rewound = RunFollower(view).rewound_to(before);
    if (!rewound) return;
    ASSERT_TRUE(now.may_have_rewound(last));
    std::set<std::int64_t> firsts;  // of lives, as they are after the answer
    for (std::size_t i = 0; i < kWorkers; ++i) {
      for (std::size_t life = 1; life <= ledgers_[i].life; ++life) {
        std::int64_t first = ledgers_[i].starts[life];
        while (first < kStepsOfEach && !saves(seed_, i, first)) ++first;
        firsts.insert(first);
      }
    }
    ASSERT_TRUE(firsts.contains(*rewound)) << *rewound;
  }

  void check_waiting(const Trial& trial, std::mt19937_64& random) const {
    const Question question(ledgers_);
    const auto step = static_cast<std::int64_t>(random() % kStepsOfEach);
    try {
      trial.wait_for_steps({step}, Mode::Global, {.timeout = std::chrono::milliseconds(1)});
      for (std::size_t i = 0; i < kWorkers; ++i) ASSERT_GE(ledgers_[i].farthest, step);
    } catch (const StepNotYetAvailable&) {
      ASSERT_LT(question.bounds().least, step);
    }
  }

  void look_at_the_end(const Trial& trial) const {
    trial.refresh();
    const bool is_whole = !workers_[kLost]->stays_dead;
    ASSERT_EQ(trial.ended(), is_whole);
    const Question question(ledgers_);
    const std::int64_t last = trial.last_complete_step();
    if (is_whole) {
      ASSERT_EQ(last, kStepsOfEach - 1);
    } else {
      ASSERT_GE(last, ledgers_[kLost].committed);
      ASSERT_LE(last, std::max<std::int64_t>(ledgers_[kLost].begun, -1));
    }
    const auto view = trial.view();
    const NoRefresh pin(*view);
    for (std::int64_t step = 0; step <= last; ++step) {
      check_missing(*view, step);
      for (std::size_t i = 0; i < kWorkers; ++i) check_values(*view, question, i, step);
    }
    const Trial fresh(store_);
    ASSERT_EQ(fresh.steps(Mode::Global, true), trial.steps(Mode::Global, true));
    ASSERT_EQ(fresh.totals().rows, trial.totals().rows);
  }

  mutable std::atomic<int> answers_ = 0;
  const ScratchDirectory directory_;
  const std::uint64_t seed_;
  const std::shared_ptr<LocalStore> store_;
  Ledgers ledgers_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_F(ManyWorkers, are_shown_as_far_as_all_have_come_and_never_farther) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(number_from("CUPEL_WORKERS_SECONDS", 0));
  std::uint64_t seed = number_from("CUPEL_WORKERS_SEED", 1);
  int rounds = 0, snapshots = 0;
  do {
    for (const WatchMethod method : {WatchMethod::Notify, WatchMethod::Poll}) {
      SCOPED_TRACE("CUPEL_WORKERS_SEED=" + std::to_string(seed));
      snapshots += Simulation(seed++, method).run();
      ++rounds;
      if (HasFailure()) {
        std::printf("the seed was %llu\n", static_cast<unsigned long long>(seed - 1));
        return;
      }
    }
  } while (Clock::now() < until);
  std::printf("%d snapshots of %d runs were compared\n", snapshots, rounds);
}

}  // namespace
}  // namespace cupel::testing
