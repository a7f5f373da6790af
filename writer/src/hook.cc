#include "cupel/writer/hook.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "background_writer.h"
#include "chunk_pool.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "cupel/store/open_store.h"
#include "run_files.h"
#include "save_plan.h"
#include "step_recorder.h"
#include "tensor_table.h"
#include "value_bytes.h"

namespace cupel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunkBytes = 16U << 20U;
constexpr std::uint64_t kLeastBufferBytes = 1U << 20U;
constexpr auto kOverheadPeriod = std::chrono::seconds(1);
constexpr auto kStopPollPeriod = std::chrono::milliseconds(100);
constexpr auto kForEver = std::chrono::hours(24 * 365);  // longer waits overflow clocks
constexpr const char* kChief = "worker_0";

struct Group : detail::SaveGroup {
  Membership members;
  SaveDecision now;  // written between steps only
};

void check_options(const HookOptions& options) {
  const auto demand = [](bool holds, const std::string& otherwise) {
    if (!holds) throw UsageError(otherwise);
  };
  options.save_config.validate();
  if (options.reduction_config) static_cast<void>(options.reduction_config->set());
  check_worker_name(options.worker);
  demand(options.include_workers == "one" || options.include_workers == "all",
         "include_workers is \"one\" or \"all\": \"" + options.include_workers + '"');
  demand(options.num_workers >= 1,
         "num_workers is at least 1: " + std::to_string(options.num_workers));
  demand(options.buffer_bytes >= kLeastBufferBytes,
         "buffer_bytes is at least 1 MiB: " + std::to_string(options.buffer_bytes));
  demand(options.segment_bytes >= 1, "segment_bytes is at least 1");
  demand(options.segment_age.count() >= 1, "segment_age is at least 1 ms");
  demand(options.commit_timeout.count() >= 0, "commit_timeout is not negative");
  for (const std::string& pattern : options.include_regex) static_cast<void>(Pattern(pattern));
}

}  // namespace

struct Hook::State {
  State(HookOptions hook_options, std::shared_ptr<Store> into)
      : options(std::move(hook_options)), store(std::move(into)) {
    check_options(options);
    options.commit_timeout = std::min<std::chrono::milliseconds>(options.commit_timeout, kForEver);
    options.segment_age = std::min<std::chrono::milliseconds>(options.segment_age, kForEver);
    collections = initial_collections(options);
    never = group_of({});
    if (options.export_tensorboard || !options.tensorboard_dir.empty()) {
      log(LogLevel::Warning,
          "export_tensorboard is kept, but this version does not export to TensorBoard");
    }
    // Of several workers only the chief writes, unless all are asked for.
    writes = !options.dry_run && (options.include_workers == "all" || options.worker == kChief);
    if (!writes) return;
    std::string directory;
    if (store == nullptr) {
      if (options.out_dir.empty()) throw UsageError("out_dir is not set");
      store = open_store(expand_out_dir(options.out_dir));
      if (dynamic_cast<LocalStore*>(store.get()) != nullptr) directory = store->location();
    }
    files.emplace(*store, directory, options);
    pool.emplace(options.buffer_bytes, kChunkBytes);
  }

  // Runs what a public call does. Nothing leaves it, unless the user asked for that.
  template <class F>
  void guarded(F&& call) {
    try {
      call();
    } catch (const UsageError& error) {
      // A complaint that is to be thrown costs its call only.
      if (options.on_error == OnError::Throw) throw;
      disable(error.what());
    } catch (const std::exception& error) {
      disable(error.what());
      if (options.on_error == OnError::Throw) throw;
    }
  }

  // A mistake that costs one call, not the run.
  void complain(NamedTensor* tensor, const std::string& what) {
    if (tensor != nullptr && tensor->complained.exchange(true)) return;
    if (options.on_error == OnError::Throw) throw UsageError(what);
    log(LogLevel::Warning, what);
    const std::lock_guard lock(mutex);
    problems.push_back(what);
  }

  void disable(const std::string& what) {
    const std::lock_guard lock(mutex);
    for (auto& [members, group] : groups) group->due.store(false, std::memory_order_relaxed);
    if (disabled.exchange(true)) return;
    log(LogLevel::Error, "saving has ended, training goes on: " + what);
    problems.push_back(what);
  }

  bool active() const noexcept { return !disabled && !closed; }

  NamedTensor* tensor(std::string_view name) {
    return tensors.find_or_add(name, [this](NamedTensor& added) {
      const std::lock_guard lock(mutex);
      place(added);
    });
  }

  // Puts a tensor into the group of the collections that contain it. The mutex is held.
  void place(NamedTensor& named) {
    const auto* tags = named.tags.load(std::memory_order_relaxed);
    named.group.store(
        plan ? group_of(plan->membership(named.name, tags == nullptr ? no_tags : *tags)) : never,
        std::memory_order_relaxed);
  }

  Group* group_of(const Membership& members) {
    auto& group = groups[members];
    if (group == nullptr) {
      group = std::make_unique<Group>();
      group->members = members;
      refresh(*group);
    }
    return group.get();
  }

  void refresh(Group& group) const {
    const bool due =
        plan && step_mode == mode && !disabled && !closed && (writes || options.dry_run);
    group.now = due ? plan->decide(group.members, mode, mode_step(mode)) : SaveDecision{};
    group.due.store(group.now.any(), std::memory_order_relaxed);
  }

  void refresh_groups() {
    const std::lock_guard lock(mutex);
    for (auto& [members, group] : groups) refresh(*group);
  }

  std::int64_t mode_step(Mode of) const {
    return of == Mode::Global ? global_step : mode_steps[static_cast<std::size_t>(of)];
  }

  void join(NamedTensor& named, const CollectionNames& names) {
    const auto* known = named.tags.load(std::memory_order_acquire);
    const auto is_known = [&](std::string_view name) {
      return known != nullptr && std::find(known->begin(), known->end(), name) != known->end();
    };
    if (std::all_of(names.names().begin(), names.names().end(), is_known)) return;
    const std::lock_guard lock(mutex);
    known = named.tags.load(std::memory_order_relaxed);
    auto joined = std::make_unique<std::vector<std::string>>();
    if (known != nullptr) *joined = *known;
    for (const std::string_view name : names.names()) {
      if (is_known(name)) continue;
      joined->emplace_back(name);
      collections.try_emplace(std::string(name), std::string(name))
          .first->second.add_tensor_name(named.name);
      collections_changed = true;
    }
    named.tags.store(joined.get(), std::memory_order_release);
    tag_lists.push_back(std::move(joined));
    place(named);
  }

  void count_step() {
    ++global_step;
    if (mode != Mode::Global) ++mode_steps[static_cast<std::size_t>(mode)];
  }
  void prepare();
  void begin_step();
  void end_step();
  void add_own_tensors();
  void save(NamedTensor& named, const TensorView& view, const SaveDecision& what);
  void record_time(Clock::time_point since) {
    spent_ns.fetch_add((Clock::now() - since).count(), std::memory_order_relaxed);
  }
  double overhead() const {
    const double total = std::chrono::duration<double, std::nano>(Clock::now() - created).count();
    return total <= 0 ? 0 : static_cast<double>(spent_ns.load(std::memory_order_relaxed)) / total;
  }
  void check_writer();
  void poll_stop();
  void write_collections();
  // Names every saved tensor in the collections that contain it, for readers that know no patterns.
  void list_saved_tensors();
  void finish();

  HookOptions options;
  std::shared_ptr<Store> store;
  bool writes = false;
  std::optional<RunFiles> files;
  std::optional<ChunkPool> pool;
  std::optional<BackgroundWriter> writer;
  std::optional<StepRecorder> recorder;

  Collections collections;
  std::optional<SavePlan> plan;
  TensorTable tensors;
  const std::vector<std::string> no_tags;

  std::mutex mutex;  // groups, collections, tags, problems; training threads may save at once
  std::map<Membership, std::unique_ptr<Group>> groups;
  Group* never = nullptr;
  std::vector<std::unique_ptr<const std::vector<std::string>>> tag_lists;
  bool collections_changed = false;
  std::vector<std::string> problems;
  std::vector<std::pair<NamedTensor*, double>> early_scalars;  // before the first step

  Mode mode = Mode::Global;
  std::optional<Mode> step_mode;  // of the step that began last
  std::int64_t global_step = -1;
  std::array<std::int64_t, 5> mode_steps = {-1, -1, -1, -1, -1};
  std::uint64_t commits = 0;  // handed over
  std::atomic<std::int64_t> committed_step{-1};
  std::atomic<bool> disabled{false};
  bool closed = false;
  HookReport report;
  std::vector<std::string> notes;

  const Clock::time_point created = Clock::now();
  Clock::time_point overhead_saved = created;
  Clock::time_point stop_polled = created - kStopPollPeriod;
  std::atomic<bool> stop_seen{false};
  std::atomic<std::int64_t> spent_ns{0};
};

void Hook::State::prepare() {
  plan.emplace(collections, options);
  {
    const std::lock_guard lock(mutex);
    for (NamedTensor& named : tensors.tensors()) place(named);
  }
  if (!writes) return;
  write_collections();
  SegmentPolicy policy{
      files->run(),    files->worker(),       files->attempt(),    files->collections_key(),
      plan->columns(), options.segment_bytes, options.segment_age, options.sync};
  writer.emplace(*store, std::move(policy), *pool, committed_step);
  recorder.emplace(*writer, *pool);
}

void Hook::State::write_collections() {
  store->put(files->collections_key(), files->collections_file(collections),
             options.sync == Sync::Off ? Durability::Cached : Durability::Durable);
  collections_changed = false;
}

void Hook::State::begin_step() {
  step_mode = mode;
  if (recorder) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    recorder->begin({global_step, mode, mode_step(mode),
                     std::chrono::duration_cast<std::chrono::microseconds>(now).count()});
  }
  refresh_groups();
  for (const auto& [scalar, value] : std::exchange(early_scalars, {})) {
    save(*scalar, TensorView(&value, {}), {.raw = true, .shape = false, .reductions = {}});
  }
}

void Hook::State::save(NamedTensor& named, const TensorView& view, const SaveDecision& what) {
  if (const char* defect = value_defect(view))
    return complain(&named, std::string("cannot save ") + named.name + ": " + defect);
  named.saved.store(true, std::memory_order_relaxed);
  if (options.dry_run) {
    log(LogLevel::Debug,
        "dry run: step " + std::to_string(global_step) + " would save " + named.name);
  } else if (recorder) {
    recorder->save(named, view, what);
  }
}

// What the hook says about itself rides in a step that exists anyway.
void Hook::State::add_own_tensors() {
  const SaveDecision raw{.raw = true, .shape = false, .reductions = {}};
  if (const auto now = Clock::now(); closed || now - overhead_saved >= kOverheadPeriod) {
    overhead_saved = now;
    const double share = overhead();
    recorder->save(*tensor(kOverheadTensor), TensorView(&share, {}), raw);
  }
  if (!notes.empty()) {
    recorder->save(*tensor(kNoteTensor), TensorView(notes.data(), {notes.size()}), raw);
    notes.clear();
  }
}

void Hook::State::end_step() {
  if (!recorder || !recorder->has_step()) return;
  if (recorder->has_records()) add_own_tensors();
  std::optional<std::vector<std::byte>> changed;
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(collections_changed, false)) changed = files->collections_file(collections);
  }
  const std::int64_t step = recorder->header().step;
  if (!recorder->end(std::move(changed))) return;
  ++commits;
  if (options.commit == Commit::Background && !closed) return;
  if (closed) {
    writer->wait_until_idle();
  } else if (!writer->wait_for_commits(commits, options.commit_timeout)) {
    const nlohmann::ordered_json note = {
        {"kind", "commit_timeout"}, {"step", step}, {"waited_ms", options.commit_timeout.count()}};
    notes.push_back(note.dump());
    complain(nullptr, "step " + std::to_string(step) + " was not committed within " +
                          std::to_string(options.commit_timeout.count()) + " ms; it may be later");
  }
}

void Hook::State::poll_stop() {
  try {
    if (files->stop_requested()) stop_seen.store(true, std::memory_order_relaxed);
  } catch (const StoreError& error) {
    log(LogLevel::Debug, error.what());  // asked again at a later step
  }
}

void Hook::State::check_writer() {
  if (!writer || !writer->failed() || disabled) return;
  std::rethrow_exception(writer->progress().error);
}

void Hook::State::list_saved_tensors() {
  for (const NamedTensor& named : tensors.tensors()) {
    if (!named.saved || is_reserved_tensor(named.name)) continue;
    for (auto& [name, collection] : collections) {
      if (!collection.tensor_names().contains(named.name) &&
          collection.include_regex().matches(named.name)) {
        collection.add_tensor_name(named.name);
        collections_changed = true;
      }
    }
  }
}

void Hook::State::finish() {
  if (!early_scalars.empty() && !plan) {
    prepare();
    count_step();
    begin_step();
  }
  if (!plan) prepare();
  end_step();
  check_writer();
  if (!writes) return;
  list_saved_tensors();
  if (collections_changed) write_collections();
  writer->hand_over(SealNow{});
  writer->wait_until_idle();
  check_writer();
  files->write_end();
}

Hook::Hook(HookOptions options) : Hook(std::move(options), nullptr) {}

Hook::Hook(HookOptions options, std::shared_ptr<Store> store)
    : state_(std::make_unique<State>(std::move(options), std::move(store))) {}

Hook::~Hook() {
  try {
    close();
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  }
}

Collection& Hook::get_collection(std::string_view name) {
  return state_->collections.try_emplace(std::string(name), std::string(name)).first->second;
}

void Hook::add_collection(Collection collection) {
  const std::string name = collection.name();
  state_->collections.insert_or_assign(name, std::move(collection));
}

const Collections& Hook::get_collections() const noexcept { return state_->collections; }

void Hook::set_mode(Mode mode) {
  State& s = *state_;
  if (!is_valid(mode)) {
    return s.complain(nullptr, "no mode has the number " + std::to_string(static_cast<int>(mode)));
  }
  s.mode = mode;
  s.refresh_groups();
}

Mode Hook::mode() const noexcept { return state_->mode; }

void Hook::next_step() {
  State& s = *state_;
  s.count_step();
  if (!s.active()) return;
  const auto begin = Clock::now();
  s.guarded([&] {
    if (!s.plan) s.prepare();
    s.end_step();
    s.check_writer();
    if (s.writes && begin - s.stop_polled >= kStopPollPeriod) {
      s.stop_polled = begin;
      s.poll_stop();
    }
    s.begin_step();
  });
  s.record_time(begin);
}

std::int64_t Hook::step() const noexcept { return state_->global_step; }

std::int64_t Hook::mode_step(Mode mode) const noexcept {
  return is_valid(mode) ? state_->mode_step(mode) : -1;
}

TensorHandle Hook::handle(std::string_view name, const CollectionNames& collections) {
  State& s = *state_;
  NamedTensor* named = nullptr;
  if (const char* defect = tensor_name_defect(name)) {
    s.complain(nullptr, std::string(defect) + ": \"" + std::string(name.substr(0, 80)) + '"');
    return TensorHandle();
  }
  s.guarded([&] {
    named = s.tensor(name);
    if (!collections.empty()) s.join(*named, collections);
  });
  return TensorHandle(named);
}

bool Hook::wants(std::string_view name) {
  const NamedTensor* named = state_->tensors.find(name);
  return named != nullptr ? is_due(named) : wants(handle(name));
}

void Hook::save_tensor(std::string_view name, const TensorView& view,
                       const CollectionNames& collections) {
  NamedTensor* named = state_->tensors.find(name);
  if (named == nullptr || !collections.empty()) {
    named = static_cast<NamedTensor*>(handle(name, collections).entry_);
  }
  if (is_due(named)) save_due(named, view);
}

void Hook::save_due(detail::TensorEntry* entry, const TensorView& view) {
  State& s = *state_;
  const auto begin = Clock::now();
  s.guarded([&] {
    const auto* group = static_cast<const Group*>(entry->group.load(std::memory_order_relaxed));
    s.save(static_cast<NamedTensor&>(*entry), view, group->now);
  });
  s.record_time(begin);
}

void Hook::save_scalar(std::string_view name, double value, const CollectionNames& collections) {
  State& s = *state_;
  if (!s.active()) return;
  const auto begin = Clock::now();
  auto* named = static_cast<NamedTensor*>(handle(name, collections).entry_);
  if (named == nullptr) return;
  s.guarded([&] {
    if (s.plan) {
      s.save(*named, TensorView(&value, {}), {.raw = true, .shape = false, .reductions = {}});
    } else {
      const std::lock_guard lock(s.mutex);
      s.early_scalars.emplace_back(named, value);
    }
  });
  s.record_time(begin);
}

std::int64_t Hook::committed_step() const noexcept {
  return state_->committed_step.load(std::memory_order_acquire);
}

bool Hook::stop_requested() const noexcept {
  return state_->stop_seen.load(std::memory_order_relaxed);
}

HookReport Hook::close() {
  State& s = *state_;
  if (s.closed) return s.report;
  s.closed = true;
  const auto begin = Clock::now();
  std::exception_ptr error;
  try {
    if (!s.disabled) s.finish();
  } catch (const std::exception& caught) {
    error = std::current_exception();
    s.disable(caught.what());
  }
  s.refresh_groups();
  s.record_time(begin);

  HookReport& report = s.report;
  if (s.writer) {
    s.writer->wait_until_idle();
    const WriterProgress progress = s.writer->progress();
    report.steps_committed = progress.steps;
    report.last_committed_step = progress.committed_step;
    report.tensors_saved = progress.rows;
    report.value_bytes = progress.value_bytes;
  }
  report.steps_begun = s.global_step + 1;
  report.overhead = s.overhead();
  for (const NamedTensor& named : s.tensors.tensors()) {
    if (named.group.load() == s.never && !named.saved && !is_reserved_tensor(named.name)) {
      report.never_saved.push_back(named.name);
    }
  }
  std::sort(report.never_saved.begin(), report.never_saved.end());
  if (s.disabled && s.writes) {
    s.problems.push_back(
        "the run is left without its end marker; what was committed stays readable");
  }
  report.problems = s.problems;
  report.disabled = s.disabled;
  s.recorder.reset();
  s.writer.reset();
  s.files.reset();
  if (error && s.options.on_error == OnError::Throw) std::rethrow_exception(error);
  return report;
}

}  // namespace cupel
