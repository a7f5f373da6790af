// What a watch costs a training with XGBoost's C API: the same training with and without it, in
// turn, so that both see the same machine.
//
//   xgboost_bench [--rounds N] [--repetitions N] [--only TEXT]
//
// A training has 200 rounds of some 1.6 ms, by one thread, and evaluates its metrics at each round.
// A row gives the ratio of the processor times of the training thread, with to without: the median
// of the pairs, and the quartiles; and the ratio of the wall times, which has the waiting for
// commits. The last row is about trees: how long the watch takes at round 1000, to how long it
// takes at round 100.
//
// The runs lie in CUPEL_BENCH_DIR, else on tmpfs.

#include <xgboost/c_api.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench_directory.h"
#include "cupel/core/log.h"
#include "cupel/writer/hook.h"
#include "cupel/xgboost/watch.h"
#include "paired.h"
#include "read_arguments.h"

namespace cupel {
namespace {

struct Settings {
  int rounds = 200;
  int repetitions = 9;
  std::string only;  // a part of the names of what is run
};

constexpr std::size_t kFeatures = 20;

void must(int status) {
  if (status != 0) throw std::runtime_error(XGBGetLastError());
}

class Data {
 public:
  Data(std::size_t rows, unsigned seed) {
    const auto next = [&seed] {
      seed = seed * 1664525U + 1013904223U;
      return static_cast<float>(seed >> 8U) / 16777216.0F;
    };
    std::vector<float> values, labels;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t begin = values.size();
      for (std::size_t i = 0; i < kFeatures; ++i) values.push_back(next());
      labels.push_back(values[begin] + values[begin + 1] * values[begin + 2] + next());
    }
    must(XGDMatrixCreateFromMat(values.data(), rows, kFeatures, std::nanf(""), &handle_));
    must(XGDMatrixSetFloatInfo(handle_, "label", labels.data(), labels.size()));
  }
  ~Data() { XGDMatrixFree(handle_); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

// A booster with the data that it is trained and judged on.
class Training {
 public:
  explicit Training(const char* eta = "0.3") {
    const std::array<DMatrixHandle, 2> data = {train_.handle(), validation_.handle()};
    must(XGBoosterCreate(data.data(), data.size(), &booster_));
    for (const auto& [name, value] : {std::pair{"objective", "reg:squarederror"},
                                      {"tree_method", "hist"},
                                      {"eta", eta},
                                      {"nthread", "1"},
                                      {"verbosity", "0"}})
      must(XGBoosterSetParam(booster_, name, value));
  }
  ~Training() { XGBoosterFree(booster_); }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  BoosterHandle booster() const { return booster_; }
  xgboost::WatchOptions watched() const {
    return {.evals = {{"train", train_.handle()}, {"validation", validation_.handle()}},
            .train_data = train_.handle(),
            .validation_data = validation_.handle()};
  }
  void update(int round) { must(XGBoosterUpdateOneIter(booster_, round, train_.handle())); }
  std::string_view evaluate(int round) {
    std::array<DMatrixHandle, 2> data = {train_.handle(), validation_.handle()};
    std::array<const char*, 2> names = {"train", "validation"};
    const char* text = nullptr;
    must(XGBoosterEvalOneIter(booster_, round, data.data(), names.data(), data.size(), &text));
    return text;
  }

 private:
  const Data train_{3000, 1}, validation_{750, 2};
  BoosterHandle booster_ = nullptr;
};

// How the loop with a watch gets its metrics.
enum class Metrics { Own, Given };

struct Case {
  const char* name;
  Metrics metrics;
  std::vector<std::string> collections;
  std::int64_t interval;
  double budget;  // 0: none
};

struct Seconds {
  double processor = 0;
  double wall = 0;
};

template <class F>
Seconds both_seconds_of(F&& call) {
  Seconds seconds;
  seconds.wall = seconds_of([&] { seconds.processor = processor_seconds_of(call); });
  return seconds;
}

Seconds without_watch(int rounds) {
  Training training;
  return both_seconds_of([&] {
    for (int round = 0; round < rounds; ++round) {
      training.update(round);
      training.evaluate(round);
    }
  });
}

Seconds with_watch(int rounds, const Case& measured) {
  const BenchDirectory directory;
  HookOptions options;
  options.out_dir = directory / "run";
  options.profile = Profile::XGBoost;
  options.include_collections = measured.collections;
  options.save_config = {.save_interval = measured.interval};
  Hook hook(options);
  if (measured.metrics == Metrics::Own)  // at every round, whatever else is saved
    hook.get_collection("metrics").set_save_config({.save_interval = 1});
  Training training;
  xgboost::Watch watch(hook, training.booster(), training.watched());
  const Seconds seconds = both_seconds_of([&] {
    for (int round = 0; round < rounds; ++round) {
      training.update(round);
      if (measured.metrics == Metrics::Own) {
        watch.after_iteration(round);
      } else {
        watch.after_iteration(round, training.evaluate(round));
      }
    }
  });
  for (const std::string& problem : hook.close().problems) std::printf("%s\n", problem.c_str());
  return seconds;
}

bool is_wanted(const Settings& settings, std::string_view name) {
  return name.find(settings.only) != std::string_view::npos;
}

void measure_pairs(const Settings& settings, const Case& measured) {
  if (!is_wanted(settings, measured.name)) return;
  std::vector<double> plain, ratios, wall_ratios;
  for (int i = 0; i < settings.repetitions + 1; ++i) {
    Seconds without, with;
    if (i % 2 == 0) without = without_watch(settings.rounds);
    with = with_watch(settings.rounds, measured);
    if (i % 2 == 1) without = without_watch(settings.rounds);
    if (i == 0) continue;  // warms up
    plain.push_back(without.processor);
    ratios.push_back(with.processor / without.processor);
    wall_ratios.push_back(with.wall / without.wall);
  }
  const double median = quantile(ratios, 0.5);
  std::printf("%-22s %8.3f %9.4f %9.4f %9.4f %9.4f", measured.name,
              quantile(plain, 0.5) / settings.rounds * 1e3, quantile(ratios, 0.25), median,
              quantile(ratios, 0.75), quantile(wall_ratios, 0.5));
  if (measured.budget > 0)
    std::printf(" %8.2f%s", measured.budget, median > measured.budget ? "  over" : "");
  std::printf("\n");
  std::fflush(stdout);
}

// The trees of a round do not take longer where the model is larger. It learns so slowly that its
// trees are of one size.
void measure_trees(const Settings& settings) {
  const char* const name = "trees/1000_to_100";
  constexpr double kBudget = 1.5;
  constexpr int kEarly = 100, kLate = 1000, kAround = 10;
  if (!is_wanted(settings, name)) return;
  const BenchDirectory directory;
  HookOptions options;
  options.out_dir = directory / "run";
  options.profile = Profile::XGBoost;
  options.include_collections = {"trees"};
  options.save_config = {.save_interval = 1};
  Hook hook(options);
  hook.get_collection("metrics").set_save_config({.end_step = 0});
  Training training("0.001");
  xgboost::Watch watch(hook, training.booster(), training.watched());
  std::vector<double> early, late, early_round, late_round;
  for (int round = 0; round <= kLate + kAround; ++round) {
    double took = 0;
    const double whole = processor_seconds_of([&] {
      training.update(round);
      took = processor_seconds_of([&] { watch.after_iteration(round); });
    });
    if (std::abs(round - kEarly) <= kAround) {
      early.push_back(took);
      early_round.push_back(whole);
    }
    if (std::abs(round - kLate) <= kAround) {
      late.push_back(took);
      late_round.push_back(whole);
    }
  }
  for (const std::string& problem : hook.close().problems) std::printf("%s\n", problem.c_str());
  const double ratio = quantile(late, 0.5) / quantile(early, 0.5);
  std::printf(
      "%-22s the watch %.3f ms, then %.3f ms: ratio %.2f, budget %.2f%s; a whole round %.2f\n",
      name, quantile(early, 0.5) * 1e3, quantile(late, 0.5) * 1e3, ratio, kBudget,
      ratio > kBudget ? "  over" : "", quantile(late_round, 0.5) / quantile(early_round, 0.5));
}

void measure_all(const Settings& settings) {
  std::printf("%d rounds, %d repetitions; ratio: with a watch to without\n", settings.rounds,
              settings.repetitions);
  std::printf("%-22s %8s %9s %9s %9s %9s %8s\n", "case", "ms/round", "ratio q1", "median", "q3",
              "wall", "budget");
  const std::vector<Case> cases = {
      {"metrics/own", Metrics::Own, {}, 1, 1.15},
      {"metrics/given", Metrics::Given, {}, 1, 1.15},
      {"nothing_due", Metrics::Given, {}, 1'000'000'000, 0},
      {"trees/1", Metrics::Given, {"trees"}, 1, 0},
      {"importance_and_trees/10", Metrics::Given, {"feature_importance", "trees"}, 10, 0},
  };
  for (const Case& measured : cases) measure_pairs(settings, measured);
  measure_trees(settings);
}

}  // namespace
}  // namespace cupel

int main(int argc, char** argv) {
  cupel::Settings settings;
  if (!cupel::read_arguments(argc, argv,
                             "xgboost_bench [--rounds N] [--repetitions N] [--only TEXT]",
                             {{"--rounds", &settings.rounds},
                              {"--repetitions", &settings.repetitions},
                              {"--only", &settings.only}}))
    return 2;
  cupel::set_log_sink([](cupel::LogLevel level, std::string_view message) {
    if (level >= cupel::LogLevel::Error)
      std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  });
  cupel::measure_all(settings);
  return 0;
}
