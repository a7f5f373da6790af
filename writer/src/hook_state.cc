// How a hook acts. A step begins in step(): the sink ends and commits the step before, errors and
// outcomes of the background thread are looked at, the clock counts and decides whether the step is
// due, and the groups set the flags that saves look at. A mistake of the caller costs its call; any
// other error ends saving (disable()): the gate is shut, nothing is due any more, and close()
// leaves a note in the run. close() works whatever happened before it, and once.

#include "hook_state.h"

#include <algorithm>

#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/format/events_writer.h"
#include "environment.h"
#include "run_files.h"
#include "run_output.h"
#include "settled_options.h"
#include "step_pipeline.h"
#include "value_bytes.h"

namespace cupel {

using namespace writer_detail;

namespace {

constexpr std::size_t kMostCollectionsNamed = 20;
constexpr SaveDecision kRawOnly{.raw = true, .must_be_raw = true};

// A hook may be of static storage, and be closed when the process exits: static objects of the
// encoder, made before, are destroyed after that.
void make_encoder_last() {
  static const bool prepared = [] {
    prepare_encoding();
    return true;
  }();
  static_cast<void>(prepared);
}

// Of several workers only the chief saves, unless all are asked for.
bool is_writing(const HookOptions& options) {
  return options.include_workers == "all" || options.worker == kChief;
}

Collections collections_of(const HookOptions& options, std::vector<Collection> configured) {
  Collections collections = initial_collections(options);
  for (Collection& collection : configured)
    collections.insert_or_assign(collection.name(), std::move(collection));
  return collections;
}

}  // namespace

Hook::State::State(HookOptions hook_options, std::vector<Collection> configured,
                   std::shared_ptr<Store> into)
    : options(saving_enabled() ? settled_options(std::move(hook_options))
                               : std::move(hook_options)),
      journal(options.on_error),
      inputs(options.buffer_bytes),
      groups(collections_of(options, std::move(configured)), [this](const Membership& members) {
        return gate.is_open() ? clock.decide(members) : SaveDecision{};
      }) {
  sink = make_sink(std::move(into));
  if (gate.is_open()) at_exit.emplace([this] { close_at_exit(); });
}

void Hook::State::check(HookConfiguration configuration) {
  if (!saving_enabled()) return;
  const HookOptions options = settled_options(std::move(configuration.options));
  static_cast<void>(collections_of(options, std::move(configuration.collections)));
  if (options.dry_run) return;
  const std::shared_ptr<Store> store = open_store_of_run(options);
  if (is_writing(options)) refuse_finished_run(*store, options.existing);
}

std::unique_ptr<StepSink> Hook::State::make_sink(std::shared_ptr<Store> into) {
  if (!saving_enabled()) {
    gate.shut();
    return std::make_unique<SwitchedOff>();
  }
  make_encoder_last();
  if (options.export_tensorboard || !options.tensorboard_dir.empty()) {
    log(LogLevel::Warning,
        "export_tensorboard is kept, but this version does not export to TensorBoard");
  }
  if (!is_writing(options)) {
    log(LogLevel::Info,
        options.worker + " saves nothing: with include_workers \"one\" only " + kChief + " does");
    if (!options.dry_run && into == nullptr) into = open_store_of_run(options);
    return std::make_unique<Bystander>(std::move(into));
  }
  if (options.dry_run) return std::make_unique<DryRun>(clock, std::move(into));
  return std::make_unique<StepPipeline>(options, std::move(into), clock, gate, journal, groups);
}

void Hook::State::prepare() {
  for (const auto& [name, collection] : groups.collections())
    if (const char* defect = collection_name_defect(name))
      throw UsageError(std::string(defect) + ": " + printable(name));
  SavePlan plan(groups.collections(), options);
  sink->prepare(clock.columns_of(plan));
  // Last: a caller who makes a mistake may mend it, and then the next step prepares again.
  clock.follow(std::move(plan), sink->is_saving());
  groups.follow(*clock.plan());
}

void Hook::State::begin_step(std::optional<std::int64_t> number) {
  if (gate.is_copy()) return;
  const CallGate::Alone alone(gate);
  if (!alone.may_change()) return;
  // Training goes on also where saving does not, or throws.
  struct CountAnyway {
    StepClock& clock;
    std::optional<std::int64_t> number;
    std::int64_t before = clock.steps_begun();
    ~CountAnyway() {
      if (clock.steps_begun() == before) clock.count(number);
    }
  } count_anyway{clock, number};
  if (!gate.is_open()) return;
  guarded([&] {
    step(number);
    journal.throw_late_mistakes();
  });
}

void Hook::State::step(std::optional<std::int64_t> number) {
  const auto begin = Clock::now();
  const bool is_first = clock.plan() == nullptr;
  if (is_first) prepare();
  sink->end_step(false);
  look_around(begin);
  clock.look_for_checkpoints();
  if (const std::string defect = clock.defect_of(number); !defect.empty()) {
    clock.end_step();
    groups.end_step();
    clock.publish_due();
    const std::string what =
        "next_step(" + (number ? std::to_string(*number) : "") + "): the number " + defect;
    if (journal.throws_mistakes()) throw UsageError(what);
    return journal.add_mistake(HookJournal::Once::StepNumber, what + " (reported once)");
  }
  clock.count(number);
  if (clock.has_budget())
    if (auto note = clock.weigh(begin, gate.spent(), sink->is_behind()))
      journal.ledger().note(std::move(*note));
  if (!clock.open_step()) journal.ledger().add(Missed::LeftOut, clock.counters().global);
  const std::vector<KeptValue> kept = inputs.begin_step();
  sink->begin_step();
  decide_all();
  save_kept(kept);
  if (is_first && sink->is_saving()) report_misspelt_collections();
}

void Hook::State::save_kept(const std::vector<KeptValue>& kept) {
  for (const KeptValue& value : kept) save(value.tensor(), value.view(), kRawOnly);
}

void Hook::State::end_step() {
  if (gate.is_copy()) return;
  const CallGate::Alone alone(gate);
  if (!alone.may_change() || !gate.is_open() || !clock.is_open()) return;
  guarded([&] {
    sink->end_step(true);
    clock.end_step();
    groups.end_step();
    clock.publish_due();
    look_around(Clock::now());
    journal.throw_late_mistakes();
  });
}

void Hook::State::set_mode(Mode mode) {
  if (gate.is_copy()) return;
  const CallGate::Alone alone(gate);
  if (!alone.may_change()) return;
  guarded([&] {
    if (!is_valid(mode)) {
      return journal.add_mistake(
          "a mode is TRAIN, EVAL, PREDICT or GLOBAL: there is none of the number " +
          std::to_string(static_cast<int>(mode)));
    }
    clock.set_mode(mode);
    // What was due in a step that has ended is too late, whatever the mode.
    if (gate.is_open() && !clock.is_ended()) decide_all();
  });
}

void Hook::State::look_around(Clock::time_point now) {
  sink->look_around();
  if (!stop_requested && sink->sees_stop_request(now)) stop_requested = true;
}

void Hook::State::decide_all() {
  groups.decide_all();
  clock.publish_due();
}

NamedTensor* Hook::State::tensor(std::string_view name, const CollectionNames& tags) {
  if (const char* defect = tensor_name_defect(name)) {
    journal.add_illegal_name(name, defect);
    return nullptr;
  }
  NamedTensor* named = groups.find_or_add(name);
  const auto illegal = std::ranges::find_if(tags.names(), [](std::string_view tag) -> bool {
    return collection_name_defect(tag) != nullptr;
  });
  if (illegal != tags.names().end()) {
    journal.add_mistake(*named, std::string(collection_name_defect(*illegal)) +
                                    ": it was given with " + printable(named->name));
  } else if (!tags.empty() && !groups.join(*named, tags)) {
    journal.add_mistake(*named, "a run has at most " + std::to_string(kMostCollections) +
                                    " collections: there is no room for those given with " +
                                    printable(named->name));
  }
  return named;
}

void Hook::State::save_due(NamedTensor& named, const TensorView& view) {
  // The step may have changed since the caller looked.
  switch (named.get()) {
    case DueFlag::Answer::No:
      return;
    case DueFlag::Answer::TooLate:
      return report_outside_step(named);
    case DueFlag::Answer::Yes:
      return save(named, view, groups.decision(named));
  }
}

void Hook::State::report_outside_step(NamedTensor& named) {
  if (!clock.has_begun()) return journal.warn_before_first_step(named.name);
  if (named.get() != DueFlag::Answer::TooLate) return;
  journal.add_mistake(HookJournal::Once::BetweenSteps,
                      "a tensor was saved after end_step() and before the next step, "
                      "and this save was left out (reported once): " +
                          printable(named.name));
}

void Hook::State::save_always(NamedTensor& named, const TensorView& view) {
  if (clock.is_open() || !sink->needs_values() || value_defect(view) != nullptr)
    return save(named, view, kRawOnly);
  if (inputs.keep(named, view)) return;
  journal.add_mistake(named, "cannot save " + printable(named.name) +
                                 ": the values that wait for a step take all of buffer_bytes");
}

void Hook::State::save(NamedTensor& named, const TensorView& view, const SaveDecision& what) {
  if (const char* defect = value_defect(view))
    return journal.add_mistake(named, "cannot save " + printable(named.name) + ": " + defect);
  named.saved.store(true, std::memory_order_relaxed);
  sink->save(named, view, clock.within_budget(what, view));
}

void Hook::State::refuse_beside_step(std::string_view name) {
  protect([&] {
    journal.add_mistake(
        HookJournal::Once::BesideStepChange,
        "a thread saved a tensor beside next_step(), end_step(), set_mode() or close() of "
        "another thread, and this save was dropped (reported once): " +
            printable(name));
  });
}

void Hook::State::report_misspelt_collections() {
  std::size_t count = 0;
  for (const std::string& name : empty_collections(groups.collections(), options)) {
    if (groups.is_joined(name)) continue;
    const std::string hint = builtin_name_meant(name, options.profile);
    if (hint.empty()) continue;  // calls may fill it
    const InvalidCollectionConfiguration error(name, hint);
    if (!journal.throws_mistakes()) {
      if (++count <= kMostCollectionsNamed) journal.add_problem(error.what(), LogLevel::Error);
    } else if (gate.is_open()) {
      throw error;
    }
  }
  if (count > kMostCollectionsNamed)
    journal.add_problem("further collections with nearly the name of a built-in one: " +
                            std::to_string(count - kMostCollectionsNamed),
                        LogLevel::Error);
}

void Hook::State::report_empty_collections() {
  std::size_t count = 0;
  for (const std::string& name : empty_collections(groups.collections(), options)) {
    if (groups.is_joined(name)) continue;
    const std::string hint = builtin_name_meant(name, options.profile);
    // The first step has reported misspelt ones, or thrown the first of them.
    if (!hint.empty() && !journal.throws_mistakes()) continue;
    if (++count <= kMostCollectionsNamed)
      journal.add_problem("no call put a tensor into the collection \"" + printable(name) +
                          "\", which has no patterns" + hint);
  }
  if (count > kMostCollectionsNamed)
    journal.add_problem("further collections without patterns, into which no call put a tensor: " +
                        std::to_string(count - kMostCollectionsNamed));
}

void Hook::State::nothing_is_due() noexcept {
  groups.nothing_is_due();
  clock.publish_nothing_due();
}

void Hook::State::disable(const char* what) noexcept {
  gate.shut();
  nothing_is_due();
  journal.add_failure(what);
}

// What waits when the hook closes has a step of its own. Other threads see nothing of it.
void Hook::State::begin_closing_step() {
  if (!inputs.has_kept() || clock.is_open()) return;
  if (!clock.open_closing_step())
    return journal.add_problem("no step may follow step " + std::to_string(clock.kLastStep) +
                               ": the values that waited for one are not saved");
  const std::vector<KeptValue> kept = inputs.begin_step();
  sink->begin_step();
  save_kept(kept);
}

void Hook::State::finish() {
  const bool is_first = clock.plan() == nullptr;
  if (is_first) prepare();
  begin_closing_step();
  if (is_first && clock.has_begun() && sink->is_saving()) report_misspelt_collections();
  sink->end_last_step();
  if (sink->is_saving() && clock.has_begun()) report_empty_collections();
  sink->finish();
}

void Hook::State::close() {
  const CallGate::Busy until_all_is_taken_apart(gate);
  if (!gate.begin_closing()) return;
  const bool was_open = gate.shut();
  const auto until = Clock::now() + options.close_timeout;
  sink->stop_waiting_at(until);
  std::exception_ptr error;
  {
    const CallGate::Call counted(gate);
    try {
      if (was_open) finish();
    } catch (const std::exception& caught) {
      error = std::current_exception();
      disable(caught.what());
    } catch (...) {
      error = std::current_exception();
      disable("something was thrown that is no std::exception");
    }
    journal.report_late_mistakes();
    nothing_is_due();
    sink->close(until);
  }
  fill_report();
  if (error && journal.throws_mistakes()) std::rethrow_exception(error);
}

void Hook::State::fill_report() noexcept {
  HookReport& report = journal.numbers();
  report.steps_begun = clock.steps_begun();
  report.steps_dropped = journal.ledger().dropped();
  report.steps_left_out = journal.ledger().count(Missed::LeftOut);
  report.overhead = gate.share_of_time(gate.spent());
  report.disabled = journal.has_failed();
  try {
    journal.close(sink->reports_unsaved() ? groups.never_saved() : std::vector<std::string>());
  } catch (const std::exception&) {
    log(LogLevel::Warning, "no memory for all texts of the hook's report");
  }
}

// From a destructor, from the exit of the process, or from both. Another thread's call either is
// seen here, or sees that there is nothing to do any more.
bool Hook::State::close_at_exit() noexcept {
  if (gate.is_copy()) return false;
  gate.begin_exit();
  if (gate.is_busy()) {
    if (journal.is_first(HookJournal::Once::ExitInsideCall)) {
      log(LogLevel::Error, "the process exits inside a call of the hook: the run is left as it is");
      sink->halt();
    }
    return false;
  }
  try {
    close();
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  } catch (...) {  // in the report, by disable()
  }
  return true;
}

}  // namespace cupel
