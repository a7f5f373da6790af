// What saving costs the training thread, against the least that the same could cost: unsaved calls,
// raw saves against memcpy and against write(2). The runs lie in CUPEL_BENCH_DIR, else on tmpfs.
//
//   writer_bench

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench_directory.h"
#include "cupel/core/log.h"
#include "cupel/writer/hook.h"
#include "paired.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1U << 20U;

HookOptions saving_every_step(const std::string& out_dir) {
  HookOptions options;
  options.out_dir = out_dir;
  options.include_collections = {"weights"};
  options.save_config = {.save_interval = 1};
  return options;
}

/// So many tensors of so many bytes each, by handle, in a run that does not grow beyond memory.
class Saves {
 public:
  Saves(HookOptions options, std::size_t tensors, std::size_t bytes)
      : out_dir_(options.out_dir),
        values_(bytes / sizeof(float) * tensors),
        elements_(bytes / sizeof(float)),
        hook_(std::make_unique<Hook>(std::move(options))) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<float>(i % 1021) - 510.F;
    for (std::size_t i = 0; i < tensors; ++i)
      handles_.push_back(hook_->handle("layer" + std::to_string(i) + ".weight"));
  }

  double save_all() {
    return seconds_of([&] {
      for (std::size_t i = 0; i < handles_.size(); ++i)
        hook_->save_tensor(handles_[i], TensorView(values_.data() + i * elements_, {elements_}));
    });
  }
  double next_step() {
    return seconds_of([&] { hook_->next_step(); });
  }
  /// Values of sealed segments are of no further use here.
  void forget_sealed() const {
    const fs::path events = fs::path(out_dir_) / "events";
    if (!fs::exists(events)) return;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(events))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (!files.empty()) files.pop_back();
    for (const fs::path& file : files) fs::remove(file);
  }
  const std::vector<float>& values() const { return values_; }
  std::size_t tensor_bytes() const { return elements_ * sizeof(float); }

 private:
  std::string out_dir_;
  std::vector<float> values_;
  std::size_t elements_;
  std::unique_ptr<Hook> hook_;
  std::vector<TensorHandle> handles_;
};

/// One write(2) per tensor into files of the size of a segment.
class PlainWrites {
 public:
  explicit PlainWrites(const BenchDirectory& directory) : name_(directory / "plain") {}
  ~PlainWrites() {
    if (file_ >= 0) ::close(file_);
  }
  double write_all(const std::vector<float>& values, std::size_t bytes_each) {
    const auto* data = reinterpret_cast<const char*>(values.data());
    const std::size_t total = values.size() * sizeof(float);
    const double took = seconds_of([&] {
      if (file_ < 0) file_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      for (std::size_t at = 0; at < total; at += bytes_each)
        if (::write(file_, data + at, bytes_each) != static_cast<ssize_t>(bytes_each)) std::abort();
    });
    written_ += total;
    if (written_ >= 64 * kMiB) {
      ::close(file_);
      ::unlink(name_.c_str());
      file_ = -1;
      written_ = 0;
    }
    return took;
  }

 private:
  std::string name_;
  int file_ = -1;
  std::size_t written_ = 0;
};

void unsaved_by_handle(benchmark::State& state) {
  const BenchDirectory directory;
  Hook hook(saving_every_step(directory / "run"));
  const TensorHandle unsaved = hook.handle("activation");
  const std::vector<float> values(64);
  hook.next_step();
  for (auto _ : state) {
    hook.save_tensor(unsaved, TensorView(values.data(), {8, 8}));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(unsaved_by_handle);

void unsaved_by_name(benchmark::State& state) {
  const BenchDirectory directory;
  Hook hook(saving_every_step(directory / "run"));
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i)
    names.push_back("model.encoder.layers." + std::to_string(i) + ".attention_out");
  const std::vector<float> values(64);
  hook.next_step();
  std::size_t i = 0;
  for (auto _ : state) {
    hook.save_tensor(names[i], TensorView(values.data(), {8, 8}));
    i = i + 1 < names.size() ? i + 1 : 0;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(unsaved_by_name);

/// next_step() when nothing is due, and with one number that has to be committed.
void small_step(benchmark::State& state) {
  const BenchDirectory directory;
  HookOptions options = saving_every_step(directory / "run");
  options.commit = state.range(1) == 0 ? Commit::Step : Commit::Background;
  Hook hook(options);
  hook.next_step();
  for (auto _ : state) {
    if (state.range(0) > 0) hook.save_scalar("loss", 0.5);
    hook.next_step();
  }
}
BENCHMARK(small_step)
    ->ArgNames({"numbers", "background"})
    ->Args({0, 0})
    ->Args({1, 0})
    ->Args({1, 1})
    ->UseRealTime();

/// A step that saves one tensor of a name that is new and joins a collection, against one that
/// saves an old one; each after so many names have joined.
void new_name_against_old(benchmark::State& state) {
  const BenchDirectory directory;
  HookOptions options = saving_every_step(directory / "run");
  options.include_collections = {"mine"};
  Hook hook(options);
  hook.next_step();
  int names = 0;
  const std::vector<std::string> mine = {"mine"};
  const float value = 1;
  const auto save = [&](const std::string& name) {
    return seconds_of([&] {
      hook.save_tensor(name, TensorView(&value, {}), mine);
      hook.next_step();
    });
  };
  while (names < state.range(0))
    hook.save_tensor("tensor" + std::to_string(names++), TensorView(&value, {}), mine);
  hook.next_step();
  Paired().run(
      state, [&] { return save("tensor" + std::to_string(names++)); },
      [&] { return save("tensor0"); });
}
BENCHMARK(new_name_against_old)->Arg(0)->Arg(8000)->UseManualTime()->Iterations(4000);

/// The calls alone, 64 × 1 MiB, against memcpy of the same bytes into memory that is there.
void raw_calls_against_memcpy(benchmark::State& state) {
  const BenchDirectory directory;
  Saves saves(saving_every_step(directory / "run"), 64, kMiB);
  std::vector<float> copy(saves.values().size());
  saves.next_step();
  Paired().run(
      state,
      [&] {
        const double took = saves.save_all();
        saves.next_step();
        saves.forget_sealed();
        return took;
      },
      [&] {
        return seconds_of([&] {
          for (std::size_t at = 0; at < copy.size(); at += kMiB / sizeof(float))
            std::memcpy(copy.data() + at, saves.values().data() + at, kMiB);
          benchmark::ClobberMemory();
        });
      });
  state.SetBytesProcessed(state.iterations() * std::int64_t{64} * std::int64_t{kMiB});
}
BENCHMARK(raw_calls_against_memcpy)->UseManualTime()->Iterations(40);

/// Calls and waiting, a tight loop: `tensors` of `bytes` each against one write(2) per tensor.
void raw_step_against_write(benchmark::State& state) {
  const BenchDirectory directory;
  const auto tensors = static_cast<std::size_t>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  Saves saves(saving_every_step(directory / "run"), tensors, bytes);
  PlainWrites plain(directory);
  saves.next_step();
  std::vector<double> calls;
  Paired().run(
      state,
      [&] {
        calls.push_back(saves.save_all());
        const double took = calls.back() + saves.next_step();
        saves.forget_sealed();
        return took;
      },
      [&] { return plain.write_all(saves.values(), bytes); });
  state.counters["calls_s"] = quantile(calls, 0.5);
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1));
}
BENCHMARK(raw_step_against_write)
    ->Args({64, 1 << 20})
    ->Args({1000, 4 << 10})
    ->UseManualTime()
    ->Iterations(60);

/// The first step, and close(), of a hook with so many empty collections, against a tenth of them.
struct ManyCollections {
  double first_step = 0, close = 0;

  ManyCollections(const BenchDirectory& directory, std::int64_t count) {
    HookOptions options = saving_every_step(directory / "run");
    options.existing = Existing::Replace;
    options.include_collections = {"all"};
    Hook hook(std::move(options));
    for (std::int64_t i = 0; i < count; ++i) hook.get_collection("c" + std::to_string(i));
    first_step = seconds_of([&] { hook.next_step(); });
    hook.save_scalar("loss", 1);
    close = seconds_of([&] { hook.close(); });
  }
};

void many_collections(benchmark::State& state, double ManyCollections::*what) {
  set_log_sink([](LogLevel, std::string_view) {});
  const BenchDirectory directory;
  Paired().run(
      state, [&] { return ManyCollections(directory, state.range(0)).*what; },
      [&] { return ManyCollections(directory, state.range(0) / 10).*what; });
  set_log_sink({});
}
BENCHMARK_CAPTURE(many_collections, first_step, &ManyCollections::first_step)
    ->Arg(30'000)
    ->UseManualTime()
    ->Iterations(12)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(many_collections, close, &ManyCollections::close)
    ->Arg(30'000)
    ->UseManualTime()
    ->Iterations(12)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cupel
