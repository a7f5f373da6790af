#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"
#include "cupel/trial/name_selection.h"
#include "cupel/trial/note.h"
#include "cupel/trial/pins.h"
#include "cupel/trial/reduction_table.h"
#include "cupel/trial/step_range.h"
#include "cupel/trial/step_state.h"
#include "cupel/trial/tensor.h"
#include "cupel/trial/tensor_query.h"
#include "cupel/trial/tensor_value.h"
#include "cupel/trial/trial_options.h"
#include "cupel/trial/trial_totals.h"

namespace cupel {

class Store;
namespace trial_detail {
struct TrialView;
}

/// Answers which steps and tensors of one run exist, and reads their values.
///
/// A Trial may be opened while the run is still being written. Queries see newly committed steps
/// (they poll when the store reports that something changed) unless the view is pinned; a pinned
/// view answers from one snapshot. Queries may run from several threads at once, also beside
/// refresh(); one thread at a time refreshes, the others wait for it. Pins are made and ended while
/// no other thread queries the view. RunFollower waits for changes.
///
/// Steps are listed when they are complete: every worker has committed them or a later step, or the
/// run has ended, or more steps wait than TrialOptions::wait_window allows. A step that only some
/// workers have committed can be queried by its number. Where a later attempt of a worker goes back
/// to an earlier step, its steps replace the earlier ones.
///
/// Damage in an index file or a collections file is a FormatError, once, from the query or
/// refresh() that meets it. Afterwards queries answer from everything before the damage (there the
/// attempt of the worker ends; an earlier collections file stays valid), and refresh() and waiting
/// for a missing step throw it again. If the run is removed or replaced before it has ended, that
/// is reported in the same way, and nothing more is read. A damaged value is DamagedValue, a
/// FormatError, whenever it is read.
class Trial {
 public:
  /// Throws MissingCollectionFiles when there is no run and options.wait_for_run is over, or when
  /// an ended run lacks files of workers; FormatError for a damaged collections file (damage in an
  /// index file waits for the first query); UsageError for bad options; StoreError.
  explicit Trial(std::shared_ptr<const Store> store, TrialOptions options = {});
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Another view of the same run: shares everything read so far, is pinned by itself.
  std::unique_ptr<Trial> view() const;
  /// Whether a guard (pins.h) pins the view at present.
  bool pinned() const noexcept;
  const std::string& name() const noexcept;
  std::string location() const;
  /// The format of the run: "cupel".
  std::string_view format() const noexcept;
  /// TrialOptions::schemes, by which a rule opens further locations.
  const StoreSchemes& schemes() const noexcept;

  /// The sorted steps of a mode (Global: all global steps).
  std::vector<std::int64_t> steps(Mode mode = Mode::Global,
                                  bool show_incomplete_steps = false) const;
  /// The modes that have data; never Global.
  std::vector<Mode> modes() const;
  std::optional<Mode> mode(std::int64_t global_step) const;
  std::optional<std::int64_t> mode_step(std::int64_t global_step) const;
  std::optional<std::int64_t> global_step(Mode mode, std::int64_t mode_step) const;
  /// The greatest complete global step: -1 at first, the last step once the run has ended.
  std::int64_t last_complete_step() const;

  /// Sorted names. An unseen step or mode gives none; regex and collection together are UsageError.
  std::vector<std::string> tensor_names(const TensorQuery& query = {}) const;
  /// Throws TensorUnavailable if no committed step (up to the pin) contains `name`.
  Tensor tensor(std::string_view name) const;
  /// Does the same; absence is a normal answer.
  std::optional<Tensor> find_tensor(std::string_view name) const;
  bool has_tensor(std::string_view name) const;

  /// All known workers, worker_2 before worker_10.
  std::vector<std::string> workers() const;
  std::int64_t num_workers() const;
  /// The workers that saved nothing at a global step which others saved; none if nobody saved it.
  std::vector<std::string> missing_workers(std::int64_t global_step) const;

  /// All collections of the run with the names that any worker listed or added; once the run has
  /// ended, also with the names that their patterns match.
  Collections collections() const;
  /// Sorted; costs much less than collections() where these have patterns.
  std::vector<std::string> collection_names() const;
  /// One of the collections; an empty one if the run has none of that name.
  Collection collection(std::string_view name) const;

  /// The raw values that were saved at a step: of the collection inputs, and of the tensors in
  /// whose names `labels*` or `predictions*` is found, each of the first worker that has it. In the
  /// order of names, labels_2 before labels_10. Throws like Tensor::value() if nobody saved the
  /// step.
  std::vector<TensorValue> inputs(std::int64_t step, Mode mode = Mode::Global) const;
  std::vector<TensorValue> labels(std::int64_t step, Mode mode = Mode::Global) const;
  std::vector<TensorValue> predictions(std::int64_t step, Mode mode = Mode::Global) const;

  /// What the index holds of many tensors and listed steps, column by column. An unseen mode or
  /// collection gives no rows; throws InvalidWorker, and UsageError for name and collection.
  ReductionTable reductions(const ReductionTableQuery& query = {}) const;

  using RecordVisitor = std::function<void(const RecordView&)>;
  /// Calls `visit` for everything selected that was saved at a step, by tensor name, then worker,
  /// and returns how often; 0 for a step that nobody saved. Reads only the values that the visitor
  /// asks for. The visitor may query the trial, but not with the same selection.
  std::size_t visit_step(std::int64_t step, NameSelection& selection, const RecordVisitor& visit,
                         Mode mode = Mode::Global) const;
  /// Does the same at all listed steps of a range of global steps, step after step.
  std::size_t visit_steps(const StepRange& steps, NameSelection& selection,
                          const RecordVisitor& visit) const;

  StepState has_passed_step(std::int64_t step, Mode mode = Mode::Global) const;
  /// Returns when all steps are available. Throws StepUnavailable for a step that the run has
  /// passed, NoMoreData for one behind the end of an ended run, StepNotYetAvailable at the timeout
  /// or when a stop is requested. Works on a pinned view too, and leaves its pin as it is.
  void wait_for_steps(const std::vector<std::int64_t>& steps, Mode mode = Mode::Global,
                      const WaitOptions& options = {}) const;
  /// Whether the run has ended and everything was read; never true of a view that is pinned up to a
  /// step, so that a rule sees the same afterwards as it did live.
  bool ended() const;
  /// Polls for newly committed steps; true if any came, or the run ended. Does nothing once the run
  /// has ended. A pinned view stays as it is.
  bool refresh() const;

  /// The notes of hooks at these global steps, by step, then worker.
  std::vector<Note> notes(const StepRange& steps = {}) const;
  TrialTotals totals() const;

 private:
  friend struct trial_detail::TrialView;
  explicit Trial(std::unique_ptr<trial_detail::TrialView> view);
  std::unique_ptr<trial_detail::TrialView> view_;
};

/// Opens a run: a directory, or a location of one of options.schemes, such as "s3://bucket/prefix".
/// Throws what open_store() and the constructor of Trial throw.
std::unique_ptr<Trial> create_trial(std::string_view path, TrialOptions options = {});

}  // namespace cupel
