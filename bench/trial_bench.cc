// Opening, following and asking a run, against reading the same bytes and nothing else. The run is
// a local one with 1000 or 50 tensors a step, three reductions and counts; CUPEL_BENCH_ROWS sets
// its rows. It is on the disk for temporary files; runs with values are on tmpfs.
//
//   CUPEL_BENCH_ROWS=10000000 trial_bench --benchmark_repetitions=9

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench_directory.h"
#include "cupel/core/aligned_buffer.h"
#include "cupel/core/log.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "paired.h"

namespace cupel {
namespace {

constexpr std::int64_t kRowsPerSegment = 400'000;

std::int64_t wanted_rows() {
  const char* text = std::getenv("CUPEL_BENCH_ROWS");
  return text == nullptr ? 1'000'000 : std::atoll(text);
}

/// A run whose steps all hold the same tensors; removed at the end.
class BenchRun {
 public:
  explicit BenchRun(std::int64_t tensors)
      : directory_((std::filesystem::temp_directory_path() /
                    ("cupel-trial-bench-" + std::to_string(made++)))
                       .string()),
        shape_{64, 64} {
    std::filesystem::remove_all(directory_);
    store_ = std::make_shared<LocalStore>(directory_);
    Collections collections;
    collections.emplace("gradients", "gradients").first->second.include("^gradient/");
    store_->put(collections_key("worker_0"),
                encode_collections_file({1, "cafe", "worker_0", 0, collections}));
    for (std::int64_t i = 0; i < tensors; ++i) {
      std::string number = std::to_string(i);
      number.insert(0, 4 - std::min<std::size_t>(number.size(), 4), '0');
      names_.push_back("gradient/layer_" + number + "/weight");
    }
    for (const char* name : {"mean", "std", "abs_mean"}) columns_.add(require_reduction(name));
  }
  ~BenchRun() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  void write(std::int64_t rows) {
    while (rows_ < rows) {
      begin_segment();
      const std::int64_t until = std::min(rows, rows_ + kRowsPerSegment);
      while (rows_ < until) static_cast<void>(encode_step());
      store_->put(name_.index_key(), writer_->seal(), Durability::Cached);
    }
  }
  void begin_segment() {
    name_ = {0, step_, "worker_0"};
    writer_.emplace(SegmentIdentity{"cafe", "worker_0", 0, segment_++}, columns_);
    size_ = 0;
  }
  void append_step() {
    const std::vector<std::byte> bytes = encode_step();
    store_->append(name_.index_key(), size_, std::vector{std::span<const std::byte>(bytes)});
    size_ += bytes.size();
  }

  void seal_segment() { store_->put(name_.index_key(), writer_->seal(), Durability::Cached); }

  std::shared_ptr<const Store> store() const { return store_; }
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t steps() const noexcept { return step_; }
  const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  std::vector<std::byte> encode_step() {
    std::vector<IndexRow> rows(names_.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].tensor = names_[i];
      rows[i].elements = 4096;
      rows[i].shape = &shape_;
      rows[i].location = ValueLocation{i * 16384, 16384, 7};
      rows[i].counts = ValueCounts{0, 0, 0, static_cast<std::int64_t>(i % 3)};
      columns_.for_each([&](Reduction r) { rows[i].reductions.put(r, static_cast<double>(i)); });
    }
    rows_ += static_cast<std::int64_t>(rows.size());
    const StepHeader header{step_, Mode::Train, step_, 1'700'000'000'000'000 + step_};
    ++step_;
    return writer_->encode_step(header, rows);
  }

  static inline int made = 0;
  const std::string directory_;
  const Shape shape_;
  std::shared_ptr<LocalStore> store_;
  std::vector<std::string> names_;
  ReductionSet columns_;
  SegmentName name_;
  std::optional<IndexWriter> writer_;
  std::uint64_t size_ = 0;
  std::int64_t rows_ = 0, step_ = 0, segment_ = 0;
};

const BenchRun& finished_run(std::int64_t tensors) {
  static std::map<std::int64_t, std::unique_ptr<BenchRun>> runs;
  std::unique_ptr<BenchRun>& run = runs[tensors];
  if (!run) {
    run = std::make_unique<BenchRun>(tensors);
    run->write(wanted_rows());
  }
  return *run;
}

/// Takes the run's index out of the page cache.
void forget(const BenchRun& run) {
  for (const ObjectInfo& info : run.store()->list(kIndexPrefix)) {
    const int file =
        ::open((run.store()->location() + "/" + info.key).c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

std::uint64_t read_index(const BenchRun& run) {
  std::uint64_t bytes = 0;
  AlignedBuffer buffer(std::size_t{16} << 20U);
  for (const ObjectInfo& info : run.store()->list(kIndexPrefix))
    for (std::uint64_t at = 0; at < info.size; at += buffer.size())
      bytes += run.store()->get_range(info.key, at, buffer.span());
  return bytes;
}

std::size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void read_index_bytes(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  std::uint64_t bytes = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bytes = read_index(run));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void open_run(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  double heap = 0;
  for (auto _ : state) {
    const std::size_t before = heap_in_use();
    const Trial trial(run.store());
    benchmark::DoNotOptimize(trial.last_complete_step());
    heap = static_cast<double>(heap_in_use() - before);
  }
  state.SetItemsProcessed(state.iterations() * run.rows());
  // Three reductions, and of the counts the one column that is not all zeros.
  state.counters["bytes_a_row_beside"] = heap / static_cast<double>(run.rows()) - 4 * 8;
}

/// Opens a run for open_in_a_new_process, and says so.
int open_and_tell(const std::string& directory) {
  const Trial trial(std::make_shared<LocalStore>(directory));
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("%lld %ld\n", static_cast<long long>(trial.last_complete_step()), used.ru_maxrss);
  std::fflush(stdout);
  std::_Exit(0);  // what the system does to take the memory back is not part of it
}

void open_in_a_new_process(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  const std::string command =
      "/proc/" + std::to_string(::getpid()) + "/exe --open '" + run.store()->location() + "'";
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    std::FILE* const process = ::popen(command.c_str(), "r");
    long long last = -1;
    if (process == nullptr || std::fscanf(process, "%lld", &last) != 1 || last + 1 != run.steps())
      state.SkipWithError("the run was not opened");
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (process != nullptr) ::pclose(process);
  }
  state.SetItemsProcessed(state.iterations() * run.rows());
}

/// A run with one step and so many collections, opened in a new process.
void open_many_collections(benchmark::State& state) {
  const BenchDirectory directory;
  const std::string place = directory / "run";
  {
    set_log_sink([](LogLevel, std::string_view) {});
    HookOptions options;
    options.out_dir = place;
    Hook hook(std::move(options));
    for (std::int64_t i = 0; i < state.range(0); ++i) hook.get_collection("c" + std::to_string(i));
    hook.next_step();
    hook.save_scalar("loss", 1);
    hook.close();
    set_log_sink({});
  }
  const std::string command = "/proc/" + std::to_string(::getpid()) + "/exe --open '" + place + "'";
  long kibibytes = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    std::FILE* const process = ::popen(command.c_str(), "r");
    long long last = -1;
    if (process == nullptr || std::fscanf(process, "%lld %ld", &last, &kibibytes) != 2 || last != 0)
      state.SkipWithError("the run was not opened");
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (process != nullptr) ::pclose(process);
  }
  state.counters["mib"] = static_cast<double>(kibibytes) / 1024;
}

// Against reading the same bytes, neither of them in the page cache.
void open_from_disk(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  Paired paired;
  paired.run(
      state,
      [&] {
        forget(run);
        return seconds_of([&] {
          const Trial trial(run.store());
          benchmark::DoNotOptimize(trial.last_complete_step());
        });
      },
      [&] {
        forget(run);
        return seconds_of([&] { benchmark::DoNotOptimize(read_index(run)); });
      });
}

/// A run of a hook, with raw values.
class RawRun {
 public:
  static constexpr int kTensors = 8;
  RawRun(std::int64_t steps, std::int64_t bytes) {
    HookOptions options;
    options.out_dir = directory_ / "run";
    options.save_all = true;
    options.save_config = {.save_interval = 1};
    Hook hook(options);
    hook.set_mode(Mode::Train);
    std::vector<float> value(static_cast<std::size_t>(bytes) / sizeof(float));
    for (std::int64_t step = 0; step < steps; ++step) {
      hook.next_step();
      for (int i = 0; i < kTensors; ++i) {
        value.front() = static_cast<float>(step * kTensors + i);
        hook.save_tensor("layer_" + std::to_string(i), TensorView(std::span<const float>(value)));
      }
    }
    hook.close();
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(directory_ / "run/events"))
      if (file.is_regular_file()) events_.push_back(file.path());
  }
  std::string location() const { return directory_ / "run"; }
  const std::vector<std::string>& events() const noexcept { return events_; }

 private:
  BenchDirectory directory_;
  std::vector<std::string> events_;
};

// One tensor of eight at all its steps, against pread of as many bytes at about the same places
// into memory that is used again.
void values_of_one_tensor(benchmark::State& state) {
  const std::int64_t bytes = state.range(1);
  const RawRun run(state.range(0), bytes);
  const auto trial = create_trial(run.location());
  const Tensor tensor = trial->tensor("layer_5");
  std::vector<std::byte> memory(static_cast<std::size_t>(bytes));
  Paired paired;
  paired.run(
      state,
      [&] {
        return seconds_of([&] {
          const auto values = tensor.values();
          if (values.size() != static_cast<std::size_t>(state.range(0))) std::abort();
        });
      },
      [&] {
        return seconds_of([&] {
          for (const std::string& path : run.events()) {
            const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
            const off_t end = ::lseek(file, 0, SEEK_END);
            for (off_t at = 5 * bytes; at + bytes <= end; at += RawRun::kTensors * bytes)
              benchmark::DoNotOptimize(::pread(file, memory.data(), memory.size(), at));
            ::close(file);
          }
        });
      });
  state.SetBytesProcessed(state.iterations() * state.range(0) * bytes);
}

void refresh_after_one_step(benchmark::State& state) {
  BenchRun run(state.range(0));
  run.write(kRowsPerSegment);
  run.begin_segment();
  run.append_step();
  const Trial trial(run.store());
  for (auto _ : state) {
    state.PauseTiming();
    run.append_step();
    state.ResumeTiming();
    benchmark::DoNotOptimize(trial.refresh());
  }
}

// A reader that follows a run meets the file that took the place of the one it has read.
void refresh_after_a_seal(benchmark::State& state) {
  BenchRun run(state.range(0));
  run.write(1);
  for (auto _ : state) {
    run.begin_segment();
    run.append_step();
    const auto trial = std::make_unique<Trial>(run.store());
    for (std::int64_t row = 0; row < kRowsPerSegment; row += state.range(0)) run.append_step();
    trial->refresh();
    run.seal_segment();
    state.SetIterationTime(seconds_of([&] { benchmark::DoNotOptimize(trial->refresh()); }));
  }
  state.SetItemsProcessed(state.iterations() * kRowsPerSegment);
}

void ask_for_a_saved_reduction(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  Trial trial(run.store());
  const NoRefresh pinned(trial);
  std::vector<Tensor> tensors;
  for (const std::string& name : run.names()) tensors.push_back(trial.tensor(name));
  std::int64_t step = 0;
  for (auto _ : state) {
    for (const Tensor& tensor : tensors)
      benchmark::DoNotOptimize(tensor.reduction_value(step, "mean", {.abs = true}));
    step = (step + 1) % run.steps();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// All columns of a table by the bytes, as they are in memory.
template <class F>
void for_each_column(const ReductionTable& table, F&& visit) {
  const auto bytes = [&](const auto& column) { visit(column.data(), column.size()); };
  for (const auto* column : {&table.step, &table.mode_step, &table.elements, &table.zero})
    bytes(*column);
  bytes(table.mode);
  for (const auto* column : {&table.tensor, &table.worker, &table.saved}) bytes(*column);
  for (const ReductionTable::Values& column : table.reductions) bytes(column.values);
}

// Against memcpy of the same columns into fresh memory. The three columns of counts that are all
// zeros take no memory in the table, and are not copied either.
void table_of_reductions(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  Trial trial(run.store());
  const NoRefresh pinned(trial);
  const ReductionTableQuery query =
      state.range(1) == 0 ? ReductionTableQuery{} : ReductionTableQuery{.name = "[02468]/weight$"};
  const ReductionTable source = trial.reductions(query);
  Paired paired;
  paired.run(
      state,
      [&] {
        return seconds_of([&] { benchmark::DoNotOptimize(trial.reductions(query).step.data()); });
      },
      [&] {
        return seconds_of([&] {
          std::vector<TableColumn<std::byte>> copies;
          for_each_column(source, [&]<class T>(const T* from, std::size_t size) {
            TableColumn<std::byte> copy(size * sizeof(T));
            std::memcpy(copy.data(), from, size * sizeof(T));
            copies.push_back(std::move(copy));
          });
          benchmark::DoNotOptimize(copies.data());
        });
      });
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(source.rows()));
}

void visit_all_steps(benchmark::State& state) {
  const BenchRun& run = finished_run(state.range(0));
  Trial trial(run.store());
  const NoRefresh pinned(trial);
  NameSelection gradients({"gradients"});
  for (auto _ : state) {
    double sum = 0;
    trial.visit_steps({}, gradients, [&](const RecordView& record) {
      sum += record.reduction({ReductionOp::Mean, true}).value_or(0);
    });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * run.rows());
}

/// A built-in rule as the runner evaluates it, step after step; nothing fires.
void evaluate_rule(benchmark::State& state, const char* name, const RuleParameters& parameters) {
  const BenchRun& run = finished_run(state.range(0));
  Trial trial(run.store());
  const auto rule = builtin_rules().require(name).make(trial, parameters);
  const auto snapshot = RunFollower(trial).snapshot();
  std::int64_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(RuleEvaluation(*rule).at_step(step, snapshot).datapoints());
    step = (step + 1) % run.steps();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(read_index_bytes)->Arg(1000)->Arg(50)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(open_run)->Arg(1000)->Arg(50)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(open_in_a_new_process)
    ->Arg(1000)
    ->Arg(50)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(open_many_collections)
    ->Arg(20'000)
    ->Arg(200'000)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(open_from_disk)
    ->Arg(1000)
    ->Arg(50)
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(values_of_one_tensor)
    ->ArgNames({"steps", "bytes"})
    ->Args({10000, 4096})
    ->Args({10000, 65536})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(refresh_after_one_step)
    ->Arg(1000)
    ->Arg(50)
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(refresh_after_a_seal)
    ->Arg(1000)
    ->Arg(50)
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(ask_for_a_saved_reduction)->Arg(1000)->Arg(50);
// Tensors a step; every tensor, or the half of them that a pattern selects.
BENCHMARK(table_of_reductions)
    ->ArgNames({"tensors", "half"})
    ->Args({1000, 0})
    ->Args({50, 0})
    ->Args({1000, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(visit_all_steps)->Arg(1000)->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(evaluate_rule, vanishing_gradient, "VanishingGradient",
                  RuleParameters{{"threshold", "0"}})
    ->Arg(1000)
    ->Arg(50);
BENCHMARK_CAPTURE(evaluate_rule, exploding_tensor, "ExplodingTensor", RuleParameters{})
    ->Arg(1000)
    ->Arg(50);

}  // namespace
}  // namespace cupel

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--open") return cupel::open_and_tell(argv[2]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
