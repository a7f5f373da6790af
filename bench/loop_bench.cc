// What a hook costs a training loop, from its first next_step() to the end of its last step: the
// same loop with and without a hook, in turn, so that both see the same machine.
//
//   loop_bench [--steps N] [--repetitions N] [--only TEXT]
//
// Two networks are trained: that of `cupel demo`, whose steps take a fraction of a millisecond, and
// one with three hidden layers of 512. Of each gradient a case saves raw values, reductions or
// both, every 1, 10 or 100 steps; some save the loss, too, at every step, which makes a commit of
// each. The rows give the ratio of the loops' wall times, with to without: the median of the pairs,
// and the quartiles; and how long close() took, which is behind the loop.
//
// What stands last is of a store each of whose appends takes 20 ms, with and without a budget.
//
// The runs lie in CUPEL_BENCH_DIR, else on tmpfs.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench_directory.h"
#include "cupel/core/log.h"
#include "cupel/store/local_store.h"
#include "cupel/writer/hook.h"
#include "demo_data.h"
#include "demo_network.h"
#include "paired.h"
#include "read_arguments.h"

namespace cupel {
namespace {

using demo::Activation;
using demo::Examples;
using demo::Layer;
using demo::Network;
using demo::Random;

struct Settings {
  int steps = 200;
  int repetitions = 9;
  std::string only;  // a part of the names of what is run
};

// What is trained.
struct Training {
  std::string name;
  std::vector<std::size_t> widths;
  std::size_t batch;
  double learning_rate;
};

const std::array<Training, 2>& trainings() {
  static const std::array<Training, 2> all = {{
      {"demo", {Examples::kInputs, 64, Examples::kClasses}, 256, 0.5},
      {"wide", {Examples::kInputs, 512, 512, 512, Examples::kClasses}, 6, 0.05},
  }};
  return all;
}

// What is saved of the gradients.
enum class What { Nothing, Raw, Reduced, Both };

struct Case {
  std::int64_t interval = 1;
  What what = What::Raw;
  bool loss = false;  // save it at every step
  Commit commit = Commit::Step;
  std::optional<double> budget = std::nullopt;
};

std::string_view name_of(What what) {
  switch (what) {
    case What::Nothing:
      return "nothing";
    case What::Raw:
      return "raw";
    case What::Reduced:
      return "reduced";
    case What::Both:
      return "both";
  }
  return "";
}

HookOptions options_of(const Case& saved, std::string out_dir) {
  HookOptions options;
  options.out_dir = std::move(out_dir);
  if (saved.what != What::Nothing) options.include_collections = {"gradients"};
  options.save_config = {.save_interval = saved.interval};
  if (saved.what == What::Reduced || saved.what == What::Both) {
    options.reduction_config = ReductionConfig{.reductions = {"min", "max", "mean", "std"},
                                               .abs_reductions = {"mean", "max"},
                                               .norms = {"l2"},
                                               .save_raw_tensor = saved.what == What::Both};
  }
  options.commit = saved.commit;
  options.overhead_budget = saved.budget;
  return options;
}

// A loop as users write it; without a hook it does the same but for the calls.
class Loop {
 public:
  explicit Loop(const Training& training)
      : training_(training),
        random_(7),
        examples_(demo::make_spirals(1500, random_)),
        network_(training.widths, Activation::LeakyRelu, random_) {}

  void run(int steps, Hook* hook, bool save_loss = false) {
    std::vector<std::pair<TensorHandle, const std::vector<float>*>> gradients;
    if (hook != nullptr) {
      hook->set_mode(Mode::Train);
      for (std::size_t k = 0; k < network_.layers().size(); ++k) {
        const Layer& layer = network_.layers()[k];
        const std::string name = "gradient/fc" + std::to_string(k + 1);
        gradients.emplace_back(hook->handle(name + ".weight"), &layer.weight.gradient);
        gradients.emplace_back(hook->handle(name + ".bias"), &layer.bias.gradient);
      }
    }
    for (int step = 0; step < steps; ++step) {
      if (hook != nullptr) hook->next_step();
      const Examples batch = demo::draw_batch(examples_, training_.batch, random_);
      const Network::Score score = network_.forward(batch);
      network_.backward(batch);
      if (hook != nullptr) {
        for (const auto& [handle, values] : gradients)
          hook->save_tensor(handle, TensorView(values->data(), {values->size()}));
        if (save_loss) hook->save_scalar("loss", score.loss);
      }
      network_.step(training_.learning_rate);
    }
  }

 private:
  const Training& training_;
  Random random_;
  Examples examples_;
  Network network_;
};

double without_hook(const Training& training, int steps) {
  Loop loop(training);
  return seconds_of([&] { loop.run(steps, nullptr); });
}

struct Measured {
  double loop = 0;
  double close = 0;
  HookReport report;
};

Measured with_hook(const Training& training, int steps, const Case& saved,
                   const std::shared_ptr<Store>& store = nullptr) {
  const BenchDirectory directory;
  HookOptions options = options_of(saved, directory / "run");
  Hook hook = store ? Hook(std::move(options), store) : Hook(std::move(options));
  Loop loop(training);
  Measured measured;
  measured.loop = seconds_of([&] { loop.run(steps, &hook, saved.loss); });
  measured.close = seconds_of([&] { measured.report = hook.close(); });
  if (measured.report.disabled)
    std::printf("saving ended: %s\n", measured.report.problems[0].c_str());
  return measured;
}

bool is_wanted(const Settings& settings, const std::string& name) {
  return name.find(settings.only) != std::string::npos;
}

void measure_pairs(const Settings& settings, const Training& training, const Case& saved) {
  std::string name = training.name + "/" + std::string(name_of(saved.what));
  if (saved.what != What::Nothing) name += "/" + std::to_string(saved.interval);
  if (saved.loss) name += "/loss";
  if (saved.commit == Commit::Background) name += "/background";
  if (!is_wanted(settings, name)) return;
  std::vector<double> ratios;
  std::vector<double> plain;
  std::vector<double> close;
  for (int i = 0; i < settings.repetitions + 1; ++i) {
    double without = 0;
    Measured with;
    if (i % 2 == 0) without = without_hook(training, settings.steps);
    with = with_hook(training, settings.steps, saved);
    if (i % 2 == 1) without = without_hook(training, settings.steps);
    if (i == 0) continue;  // warms up
    ratios.push_back(with.loop / without);
    plain.push_back(without);
    close.push_back(with.close);
  }
  std::printf("%-28s %8.3f %9.4f %9.4f %9.4f %10.2f\n", name.c_str(),
              quantile(plain, 0.5) / settings.steps * 1e3, quantile(ratios, 0.25),
              quantile(ratios, 0.5), quantile(ratios, 0.75), quantile(close, 0.5) * 1e3);
  std::fflush(stdout);
}

// A directory each of whose appends takes its time.
class SlowStore : public Store {
 public:
  explicit SlowStore(const std::string& root) : store_(root) {}
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    store_.append(key, expected_size, pieces);
  }
  std::string location() const override { return store_.location(); }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    store_.put(key, bytes, durability);
  }
  bool can_append() const noexcept override { return store_.can_append(); }
  void sync(std::string_view key) override { store_.sync(key); }
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    return store_.get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    return store_.get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    return store_.list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override { return store_.stat(key); }
  void remove(std::string_view key) override { store_.remove(key); }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return store_.watch(prefix);
  }

 private:
  LocalStore store_;
};

void measure_slow_store(const Settings& settings, const Training& training, const char* name,
                        int steps, const Case& saved) {
  if (!is_wanted(settings, name)) return;
  const double before = without_hook(training, steps);
  const BenchDirectory directory;
  const Measured with =
      with_hook(training, steps, saved, std::make_shared<SlowStore>(directory / "slow"));
  const double after = without_hook(training, steps);
  const HookReport& report = with.report;
  std::printf("%s: %d steps, loop %.3f of that without a hook, close() %.0f ms\n", name, steps,
              with.loop / ((before + after) / 2), with.close * 1e3);
  std::printf(
      "  the hook says: overhead %.4f, of it waiting %.4f, %lld steps in the run, %lld left "
      "out, %zu notes\n",
      report.overhead, report.waiting, static_cast<long long>(report.steps_committed),
      static_cast<long long>(report.steps_left_out), report.notes.size());
  for (const std::string& note : report.notes) std::printf("  %s\n", note.c_str());
  std::fflush(stdout);
}

void measure_all(const Settings& settings) {
  std::printf("%d steps, %d repetitions; ratio: a loop with a hook to one without\n",
              settings.steps, settings.repetitions);
  std::printf("%-28s %8s %9s %9s %9s %10s\n", "case", "ms/step", "ratio q1", "median", "q3",
              "close ms");
  for (const Training& training : trainings()) {
    for (const What what : {What::Reduced, What::Raw, What::Both})
      for (const std::int64_t interval : {1, 10, 100})
        measure_pairs(settings, training, {interval, what});
    // A commit at every step.
    measure_pairs(settings, training, {10, What::Reduced, true});
    measure_pairs(settings, training, {10, What::Reduced, true, Commit::Background});
    measure_pairs(settings, training, {1, What::Nothing, true});
    measure_pairs(settings, training, {1, What::Nothing, true, Commit::Background});
    measure_pairs(settings, training, {1, What::Nothing});
  }

  std::printf("\nevery append takes 20 ms; all gradients, both, every step\n");
  const Training& wide = trainings()[1];
  measure_slow_store(settings, wide, "slow/no budget", settings.steps, {1, What::Both});
  // Long enough to pay off what the first steps cost.
  measure_slow_store(settings, wide, "slow/budget 0.01", 20 * settings.steps,
                     {.what = What::Both, .budget = 0.01});
  measure_slow_store(settings, wide, "slow/budget 0.01/loss", 20 * settings.steps,
                     {.what = What::Both, .loss = true, .budget = 0.01});
}

}  // namespace
}  // namespace cupel

int main(int argc, char** argv) {
  cupel::Settings settings;
  if (!cupel::read_arguments(argc, argv, "loop_bench [--steps N] [--repetitions N] [--only TEXT]",
                             {{"--steps", &settings.steps},
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
