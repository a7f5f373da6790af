#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/trial/name_selection.h"
#include "cupel/trial/pins.h"
#include "cupel/trial/reduction_table.h"
#include "cupel/trial/run_status.h"
#include "cupel/trial/step_range.h"
#include "cupel/trial/tensor.h"
#include "cupel/trial/tensor_value.h"
#include "cupel/trial/trial_clock.h"

namespace cupel {

class Store;

struct TrialOptions {
  std::string name =
      {};  ///< How the trial is called in verdict lines; default: the last part of its path.
  StepRange range_steps = {};  ///< Only these global steps are loaded.
  /// How long to wait for a run that is not there yet; default: not at all.
  std::chrono::milliseconds wait_for_run = std::chrono::milliseconds(0);
  std::stop_token stop_waiting = {};  ///< Ends that as the time does.
  /// How long the refresh that finds the end marker pauses, to look once more before the run counts
  /// as ended: for files that another program copies here in whatever order. Our own writers need
  /// none. Default: SMDEBUG_TRAINING_END_DELAY_REFRESH in seconds, where it is set, else no pause.
  std::optional<std::chrono::milliseconds> end_delay = std::nullopt;
  /// How many saved steps may wait for workers that have not come so far. When more do, the first
  /// of them count as passed by all, by halves of the window, until that is kept; missing_workers()
  /// names who has not. (Opening a run goes on by one half.) At least 1. Default:
  /// SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW, where it is set, else steps wait until they are complete
  /// or the run has ended.
  std::optional<std::int64_t> wait_window = std::nullopt;
  /// Told how many bytes of how many of the index are read while the run is opened.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};

  // The following are of stores in which every request costs time and money, and objects are only
  // put whole (Store::can_append() is false).

  /// Whoever waits for news has the run looked at between `poll_least` and `poll_most` after the
  /// look before: the sooner, the nearer the moment when news are expected, which is when as much
  /// time has passed as between the last ones. Queries look when the last look is `poll_least` old;
  /// refresh() always does. A look is one request, and one more for each new index object. None may
  /// be negative; of `poll_least` and `poll_most` the greater one is the upper bound.
  std::chrono::milliseconds poll_least = std::chrono::milliseconds(250);
  std::chrono::milliseconds poll_most = std::chrono::milliseconds(5000);
  /// How often what hardly ever changes is asked for as well: a few requests more. Until then a
  /// worker that is far behind the others, or the end of one of several, may go unnoticed; tags and
  /// collections do not, nor does the end of the run.
  std::chrono::milliseconds poll_all = std::chrono::seconds(60);
  /// How long a value's object may be missing after the index that names it was seen. Whoever asks
  /// for the value waits so long, then it is TensorUnavailableForStep.
  std::chrono::milliseconds value_patience = std::chrono::seconds(60);
  int requests_at_once = 16;  ///< For objects that are read together; at least 1.
  std::shared_ptr<const TrialClock> clock = nullptr;  ///< Default: the machine's.
};

/// Selects names of tensors; what is left out selects everything. regex and collection exclude each
/// other.
struct TensorQuery {
  std::optional<std::int64_t> step = std::nullopt;  ///< A step of `mode`: tensors saved there.
  Mode mode = Mode::Global;                         ///< Global: a global step, or every mode.
  PatternList regex = {};                           ///< Searched anywhere in the name.
  std::string collection = {};                      ///< Listed names and matches of its patterns.
};

/// What is known of a step; the numbers are the ported SDK's.
enum class StepState { Unavailable = 0, Available = 1, NotYetAvailable = 2 };

struct WaitOptions {
  std::optional<std::chrono::milliseconds> timeout =
      std::nullopt;  ///< Default: as long as it takes.
  std::stop_token stop = {};
};

/// Something a hook said about itself at a step: JSON text.
struct Note {
  std::int64_t step = 0;
  std::string worker;
  std::string text;
};

/// What `cupel info` counts.
struct TrialTotals {
  std::int64_t rows = 0;  ///< Tensors at steps from workers, without those of the hook itself.
  std::uint64_t index_bytes = 0;
  std::uint64_t value_bytes = 0;  ///< Raw values, inline ones included.
  /// The hook's share of the run's wall time: the newest of each worker, averaged.
  std::optional<double> overhead;
  std::int64_t newest_time_us = 0;  ///< Of the newest committed step; 0 if none.
};

class Snapshot;  // the immutable table of committed steps that queries read
class TrialIndex;
namespace trial_detail {
class Reading;
class RunComparer;
}  // namespace trial_detail

/// Answers which steps and tensors of one run exist, and fetches their values.
///
/// A Trial may be opened while the run is still being written. Queries see newly committed steps
/// (they look for them when the store says that something changed) unless the view is pinned; a
/// pinned view answers from one snapshot. Queries may run from several threads at once, also beside
/// refresh(); one thread at a time refreshes, the others wait for it. Pins are made and ended while
/// no other thread queries the view.
///
/// Steps are listed, and the tensors that they hold, when every worker has committed something at
/// or behind them (last_complete_step()), or the run has ended, or more steps wait than may
/// (TrialOptions::wait_window). What was committed by some can be asked for by its step all the
/// same.
///
/// Where a later attempt of a worker goes back to an earlier step, what it does again replaces what
/// was there: rewound_to() says so.
///
/// Damage in an index file is FormatError from the query or refresh() that meets it, once;
/// afterwards queries answer from everything before it (the worker's attempt ends there for them),
/// and refresh() and waiting for a step that is not there throw it again. Damage in a value is
/// DamagedValue, a FormatError, whenever the value is asked for.
///
/// A collections file that is damaged or removed later is told in the same way, and what it said
/// before holds. So is the loss of the run: when it is removed, or another run is written in its
/// place, before it has ended. Nothing more is read then, least of all of the other run, which is
/// seen by a new trial.
class Trial {
 public:
  /// Throws MissingCollectionFiles when there is no run and options.wait_for_run is over, or an
  /// ended one lacks files of workers; FormatError for a damaged collections file (an index file's
  /// waits for the first query); UsageError for a bad range; StoreError.
  explicit Trial(std::shared_ptr<const Store> store, TrialOptions options = {});
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Another view of the same run: shares everything read so far, is pinned by itself.
  std::unique_ptr<Trial> view() const;

  const std::string& name() const noexcept;
  std::string location() const;
  /// Random texts that tell this run from any other, also from one written in its place: one, or
  /// several where workers that began together each named the run. What two looks at a run have in
  /// common makes it the same.
  std::vector<std::string> run_ids() const;
  /// What somebody else put into the run's directory under this name, up to 4 KiB; nothing if there
  /// is no such file. Throws UsageError for an illegal key, StoreError for what is larger.
  std::optional<std::string> extra_file(std::string_view key) const;

  /// Sorted steps of a mode (Global: all global steps).
  std::vector<std::int64_t> steps(Mode mode = Mode::Global,
                                  bool show_incomplete_steps = false) const;
  /// Sorted global steps that are not before `first`; costs as much as there are of them.
  std::vector<std::int64_t> steps_from(std::int64_t first,
                                       bool show_incomplete_steps = false) const;
  /// Modes that have data; never Global.
  std::vector<Mode> modes() const;
  std::optional<Mode> mode(std::int64_t global_step) const;
  std::optional<std::int64_t> mode_step(std::int64_t global_step) const;
  std::optional<std::int64_t> global_step(Mode mode, std::int64_t mode_step) const;
  /// The greatest global step that every worker has passed, or that none are waited for at; -1 at
  /// first, the last step once the run ended.
  std::int64_t last_complete_step() const;

  /// Sorted names. An unseen step or mode gives none; regex and collection together are UsageError.
  std::vector<std::string> tensor_names(const TensorQuery& query = {}) const;
  /// Throws TensorUnavailable if no committed step (up to the pin) contains `name`.
  Tensor tensor(std::string_view name) const;
  std::optional<Tensor> find_tensor(
      std::string_view name) const;  ///< Same; absence is a normal answer.
  bool has_tensor(std::string_view name) const;

  std::vector<std::string> workers() const;  ///< All that are known: worker_2 before worker_10.
  std::int64_t num_workers() const;
  /// Workers that saved nothing at a global step which others saved; empty for a step nobody saved.
  std::vector<std::string> missing_workers(std::int64_t global_step) const;

  /// The collections that are in the run, with the listed names of all workers together, and those
  /// that joined; of a run that has ended, also with the names that their patterns find.
  Collections collections() const;
  /// Sorted; much cheaper than collections() where those have patterns.
  std::vector<std::string> collection_names() const;
  Collection collection(
      std::string_view name) const;  ///< An empty one if the run has none of that name.

  /// The raw values that were saved at a step: of the collection inputs, and of the tensors in
  /// whose names `labels*` or `predictions*` is found. Ordered by name with trailing numbers by
  /// value, each of the first worker that has it. Throws what is to be said of a step that nobody
  /// saved.
  std::vector<TensorValue> inputs(std::int64_t step, Mode mode = Mode::Global) const;
  std::vector<TensorValue> labels(std::int64_t step, Mode mode = Mode::Global) const;
  std::vector<TensorValue> predictions(std::int64_t step, Mode mode = Mode::Global) const;

  /// What the index holds of many tensors and listed steps, column by column. An unseen mode or
  /// collection gives no rows; throws InvalidWorker, and UsageError for name and collection
  /// together.
  ReductionTable reductions(const ReductionTableQuery& query = {}) const;

  using RecordVisitor = std::function<void(const RecordView&)>;
  /// Calls `visit` for everything selected that was saved at a step, by tensor name, then worker,
  /// and returns how often; 0 for a step that nobody saved. Reads no values but those that the
  /// visitor asks for. The visitor may query the trial, not with the same selection.
  std::size_t visit_step(std::int64_t step, NameSelection& selection, const RecordVisitor& visit,
                         Mode mode = Mode::Global) const;
  /// The same at all listed steps of a range of global steps, step after step.
  std::size_t visit_steps(const StepRange& steps, NameSelection& selection,
                          const RecordVisitor& visit) const;

  StepState has_passed_step(std::int64_t step, Mode mode = Mode::Global) const;
  /// Returns when all steps are available. Throws StepUnavailable for one the run has passed,
  /// NoMoreData for one behind the end of an ended run, StepNotYetAvailable when the time is over
  /// or a stop was requested. Works on pinned views too, which stay as they are.
  void wait_for_steps(const std::vector<std::int64_t>& steps, Mode mode = Mode::Global,
                      const WaitOptions& options = {}) const;

  /// Whether the end marker is there and everything before it has been read; never true of a view
  /// pinned up to a step, which shall look the same afterwards as it did live.
  bool ended() const;
  /// How the run stands now, also on a pinned view. Looks for no steps. Throws StoreError.
  RunStatus status() const;
  /// Looks for newly committed steps; true if there were any, or the run ended. Does nothing when
  /// ended. A pinned view stays as it is.
  bool refresh() const;
  /// The same where a look costs nothing, or is due (TrialOptions::poll_least); else nothing, and
  /// false.
  bool refresh_if_due() const;
  /// Whether looking costs: the store is one in which every request does.
  bool looks_cost() const noexcept;
  /// Waits until the run may have changed since the last call (true) or the time is over; wake()
  /// ends it from any thread. The first call on a view returns true at once. One thread at a time
  /// waits on a view. wake() also ends what waits for missing values, on any view.
  bool wait_for_change(std::chrono::milliseconds at_most) const;
  void wake() const;

  /// What the hooks said about themselves, by step, then worker; of these global steps.
  std::vector<Note> notes(const StepRange& steps = {}) const;
  TrialTotals totals() const;

  /// From now on up to so many bytes of values that were read are kept for whoever asks next,
  /// through any view of the run, and about an eighth of that for what was computed of them. For
  /// readers that go through the same steps side by side, or look back at the steps before. 0, as
  /// in the beginning: none.
  void keep_values(std::uint64_t bytes) const;

  /// The newest snapshot, or the pinned one; does not look for newer steps.
  std::shared_ptr<const Snapshot> snapshot() const;
  /// The least global step from which on `since` shows what a later attempt of a worker has taken
  /// back by the time of snapshot(): judged steps from there on are void. Nothing if every step of
  /// `since` still holds.
  std::optional<std::int64_t> rewound_to(const Snapshot& since) const;
  /// The same for somebody who remembers only how often that had happened by then.
  std::optional<std::int64_t> rewound_to(std::size_t rewinds_before) const;
  std::size_t rewinds() const;

 private:
  friend class Tensor;
  friend class PinnedView;
  friend class NoRefresh;
  friend class trial_detail::RunComparer;
  struct View;
  explicit Trial(std::unique_ptr<View> view);
  std::vector<TensorValue> values_at(std::int64_t step, Mode mode,
                                     const NameSelection& selection) const;
  std::size_t visit_parts(const trial_detail::Reading& reading, std::int64_t begin,
                          std::int64_t last, NameSelection& selection,
                          const RecordVisitor& visit) const;
  std::unique_ptr<View> view_;
};

/// Opens a run: a directory, or "s3://bucket/prefix" where this build can.
std::unique_ptr<Trial> create_trial(std::string_view path, TrialOptions options = {});

}  // namespace cupel
