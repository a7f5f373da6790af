// RunWriter: the files of a run without a hook, on the calling thread alone.
//
// A value is measured and copied into a buffer when it is saved. A full buffer goes into the
// segment's events file as one batch; a step is committed by its index entry, behind the values, as
// SegmentWriter does it for the hook. What a tensor saves follows from SavePlan, asked for a step
// at which every collection is due.
//
// Mistakes of the caller are found before anything is written and change nothing. When the store
// fails, the open step is lost, the committed ones stay, and the writer refuses further calls.

#include "cupel/writer/run_writer.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/printable.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/stats/statistics.h"
#include "cupel/store/local_store.h"
#include "cupel/store/open_store.h"
#include "run_files.h"
#include "save_plan.h"
#include "segment_writer.h"
#include "step_counters.h"
#include "step_record.h"
#include "value_bytes.h"

namespace cupel {

using namespace writer_detail;

namespace {

constexpr std::size_t kBatchBytes = std::size_t{16} << 20U;
constexpr std::size_t kLongRunName = 64;               // of a run that another program began
constexpr auto kNoAge = std::chrono::hours(24 * 365);  // a segment is sealed by its size alone

std::int64_t now_in_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string directory_of(const std::string& location) {
  if (!location_scheme(location).empty())
    throw UsageError("a RunWriter writes into a directory, which copy_run() copies elsewhere: " +
                     location);
  return expand_out_dir(location);
}

HookOptions hook_options_of(const std::string& worker, std::int64_t num_workers,
                            const Collections& collections, const RunWriterOptions& options) {
  if (num_workers < 1)
    throw UsageError("num_workers is at least 1: " + std::to_string(num_workers));
  HookOptions result;
  result.existing = options.existing;
  result.save_config.save_interval = 1;
  result.include_workers = num_workers > 1 ? "all" : "one";
  result.worker = worker;
  result.num_workers = num_workers;
  for (const auto& [name, collection] : collections) result.include_collections.push_back(name);
  return result;
}

void check_size_of_collections(std::uint64_t bytes) {
  const std::uint64_t most = format_limits().written_collections_file;
  if (bytes > most)
    throw UsageError("the collections take " + std::to_string(bytes) +
                     " bytes, and readers of a run open a collections file of at most " +
                     std::to_string(most));
}

// Returns the collections if their file is small enough, also with the numbers of the last steps,
// which end_run() adds. Asked before anything of the run is changed.
Collections that_readers_take(Collections collections, const HookOptions& options) {
  constexpr std::int64_t kGreatestStep = std::numeric_limits<std::int64_t>::max();
  CollectionsFile file{options.num_workers.value_or(1), std::string(kLongRunName, 'f'),
                       options.worker, std::numeric_limits<std::int32_t>::max() - 1,
                       std::move(collections)};
  for (const Mode mode : kAllModes) file.steps.emplace(mode, kGreatestStep);
  check_size_of_collections(encode_collections_file(file).size());
  return std::move(file.collections);
}

// Collections that are due at every step.
Collections always_due(Collections collections) {
  for (auto& [name, collection] : collections) {
    if (const char* const defect = collection_name_defect(name))
      throw UsageError(std::string(defect) + ": " + printable(name));
    collection.set_save_config(SaveConfig{.save_interval = 1});
  }
  return collections;
}

}  // namespace

struct RunWriter::State {
  State(const std::string& directory, const std::string& worker, std::int64_t num_workers,
        Collections all, const RunWriterOptions& options)
      : State(directory, all, hook_options_of(worker, num_workers, all, options), options) {}
  State(const std::string& directory, const Collections& all, const HookOptions& hook_options,
        const RunWriterOptions& options)
      : collections(that_readers_take(all, hook_options)),
        sync(options.sync),
        plan(always_due(all), hook_options),
        store(directory_of(directory)),
        files({store, store}, store.location(), hook_options, RunFiles::WorkerOrder::Any) {
    store.hold_directory();
    SegmentPolicy policy{
        files.run(),    files.worker(),        files.attempt(), write_collections({}),
        plan.columns(), options.segment_bytes, kNoAge,          sync};
    segments.emplace(store, std::move(policy));
  }

  struct Tensor {
    explicit Tensor(std::string_view name) : named(std::string(name)) {}
    NamedTensor named;
    SaveDecision what;
    const Record* saved = nullptr;  // in the open step
  };

  Tensor& tensor(std::string_view name);
  Record& record(const Tensor& tensor, const TensorView& view);
  void keep(Record& record, const TensorView& view);
  void write_batch(std::int64_t step);
  void commit();
  std::uint32_t write_collections(const StepCounters& at_close);
  void require_usable() const;
  // Runs what writes to the store. After an exception the writer is broken.
  template <class Write>
  void write(Write&& write) {
    is_broken = true;
    write();
    is_broken = false;
  }

  const Collections collections;
  const Sync sync;
  const SavePlan plan;
  LocalStore store;
  RunFiles files;
  std::optional<SegmentWriter> segments;

  std::map<std::string, Tensor, std::less<>> tensors;
  StepCounters counters;
  std::optional<StepHeader> header;  // of the open step
  std::deque<Record> records;
  std::vector<Tensor*> saved;
  std::vector<std::byte> values;   // that are not written yet, one after another
  std::vector<Record*> in_values;  // the records of these values
  bool is_broken = false;
  bool has_ended = false;
};

void RunWriter::State::require_usable() const {
  if (is_broken)
    throw UsageError("the run writer has failed and writes no more: " + store.location());
  if (has_ended) throw UsageError("end_run() was called: " + store.location());
}

std::uint32_t RunWriter::State::write_collections(const StepCounters& at_close) {
  const std::vector<std::byte> file = files.collections_file(collections, at_close, 0);
  check_size_of_collections(file.size());
  files.write_collections(file, sync == Sync::Off ? Durability::Cached : Durability::Durable,
                          false);
  return crc32c(file);
}

RunWriter::State::Tensor& RunWriter::State::tensor(std::string_view name) {
  if (const auto found = tensors.find(name); found != tensors.end()) return found->second;
  if (const char* const defect = tensor_name_defect(name))
    throw UsageError(std::string(defect) + ": " + printable(name));
  const Membership members = plan.membership(name, {});
  Tensor& added = tensors.try_emplace(std::string(name), name).first->second;
  added.what = members.empty() ? SaveDecision{.raw = true} : plan.decide(members, Mode::Train, 0);
  return added;
}

// Makes the record of a value, measured.
Record& RunWriter::State::record(const Tensor& tensor, const TensorView& view) {
  const SaveDecision& what = tensor.what;
  Record& record = records.emplace_back();
  record.tensor = &tensor.named;
  record.dtype = view.dtype();
  record.shape = view.shape();
  record.with_shape = what.shape || what.raw;
  record.elements = view.elements();
  if (view.dtype() == DType::Utf8) return record;
  if (is_floating(view.dtype()) || !what.reductions.empty()) {
    const Statistics statistics = compute_statistics(view);
    if (is_floating(view.dtype())) record.counts = statistics.counts;
    if (!what.reductions.empty())
      record.reductions = compute_reductions(view, what.reductions, &statistics);
  }
  return record;
}

// Copies a raw value.
void RunWriter::State::keep(Record& record, const TensorView& view) {
  const std::uint64_t length = value_length(view);
  if (length <= kMaxInlineBytes) {
    write_value(view, record.inline_bytes.data());
    record.inline_length = static_cast<std::uint8_t>(length);
    return;
  }
  if (!values.empty() && values.size() + length > kBatchBytes)
    write([&] { write_batch(header->step); });
  // Room for the pointer first: no bytes may be in `values` without their record.
  if (in_values.size() == in_values.capacity())
    in_values.reserve(std::max<std::size_t>(2 * in_values.capacity(), 64));
  const std::size_t begin = values.size();
  values.resize(begin + static_cast<std::size_t>(length));
  write_value(view, values.data() + begin);
  record.location = ValueLocation{0, length, crc32c(std::span(values).subspan(begin))};
  in_values.push_back(&record);
}

void RunWriter::State::write_batch(std::int64_t step) {
  if (in_values.empty()) return;
  segments->write_values(step, in_values, values);
  segments->flush();
  in_values.clear();
  values.clear();
}

// Makes the open step exist. A step that readers would not take is lost.
void RunWriter::State::commit() {
  if (!header) return;
  const StepHeader step = *std::exchange(header, std::nullopt);
  std::vector<const Record*> rows;
  std::ranges::sort(saved, {},
                    [](const Tensor* tensor) -> std::string_view { return tensor->named.name; });
  for (Tensor* const tensor : saved) rows.push_back(std::exchange(tensor->saved, nullptr));
  saved.clear();
  std::optional<std::uint64_t> refused;
  write([&] {
    write_batch(step.step);
    if (!rows.empty()) refused = segments->commit(step, rows);
    if (refused) segments->abandon_step();
    segments->flush();
    if (segments->due_for_sealing(SegmentWriter::Clock::now())) segments->seal();
  });
  records.clear();
  if (refused)
    throw UsageError("step " + std::to_string(step.step) + " is lost: its index takes " +
                     std::to_string(*refused) + " bytes, and readers of a run take at most " +
                     std::to_string(format_limits().index_message));
}

RunWriter::RunWriter(const std::string& directory, const std::string& worker,
                     std::int64_t num_workers, Collections collections, RunWriterOptions options)
    : state_(std::make_unique<State>(directory, worker, num_workers, std::move(collections),
                                     options)) {}

RunWriter::~RunWriter() {
  if (state_->has_ended || state_->is_broken) return;
  try {
    state_->segments->abandon_step();
    state_->segments->seal();
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  }
}

void RunWriter::step(std::int64_t global, Mode mode, std::int64_t mode_step) {
  State& state = *state_;
  state.require_usable();
  const auto refuse = [&](const char* why) {
    throw UsageError(std::string("a step must ") + why + ": global step " + std::to_string(global) +
                     ", " + std::string(to_string(mode)) + " step " + std::to_string(mode_step));
  };
  if (std::ranges::find(kAllModes, mode) == std::end(kAllModes))
    throw UsageError("there is no mode of this number: " + std::to_string(static_cast<int>(mode)));
  if (global <= state.counters.global) refuse("be greater than the steps before");
  if (mode == Mode::Global && mode_step != global) refuse("be the same in mode GLOBAL");
  if (mode != Mode::Global && mode_step <= state.counters[mode])
    refuse("be greater than the steps of its mode before");
  state.commit();
  state.counters.global = global;
  state.counters[mode] = mode_step;
  state.header = StepHeader{global, mode, mode_step, now_in_microseconds()};
}

void RunWriter::save(std::string_view name, const TensorView& view) {
  State& state = *state_;
  state.require_usable();
  if (!state.header) throw UsageError("saved before the first step: " + printable(name));
  if (const char* const defect = value_defect(view))
    throw UsageError(std::string(defect) + ": " + printable(name));
  State::Tensor& tensor = state.tensor(name);
  const bool has_reductions = view.dtype() != DType::Utf8 && !tensor.what.reductions.empty();
  if (!tensor.what.raw && !tensor.what.shape && !has_reductions) return;
  Record& record = state.record(tensor, view);
  if (tensor.what.raw) state.keep(record, view);
  if (tensor.saved == nullptr) {
    state.saved.push_back(&tensor);
  } else {
    log(LogLevel::Warning, "saved twice at step " + std::to_string(state.header->step) +
                               ", the last value counts: " + printable(name));
  }
  tensor.saved = &record;
}

void RunWriter::end_run() {
  State& state = *state_;
  state.require_usable();
  state.commit();
  state.write([&] {
    state.segments->seal();
    state.write_collections(state.counters);
    state.files.write_end();
  });
  state.has_ended = true;
}

}  // namespace cupel
