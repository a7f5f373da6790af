#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"
#include "cupel/core/tensor_view.h"
#include "cupel/writer/hook_options.h"

namespace cupel {

/// How a RunWriter writes.
struct RunWriterOptions {
  /// What to do where the directory holds a finished run. An unfinished one is continued as a new
  /// attempt in any case, unless Replace removes it.
  Existing existing = Existing::Refuse;
  /// The segment that is open is sealed at the first step that makes it this large.
  std::uint64_t segment_bytes = 64ULL << 20U;
  /// What is made durable against power loss.
  Sync sync = Sync::Seal;
};

/// Writes a run whose steps come from elsewhere: a converter's source, a log, a test.
///
///     Collections collections;
///     collections.emplace("losses", Collection("losses")).first->second.include({"loss"});
///     RunWriter writer("runs/converted", "worker_0", 1, collections);
///     writer.step(0, Mode::Train, 0);
///     writer.save("loss", TensorView(&loss, {1}));
///     writer.step(1, Mode::Eval, 0);
///     ...
///     writer.end_run();
///
/// The numbers of steps are the caller's; a Hook counts its own. All that is passed is saved: as
/// the collections say that have the tensor (raw, shape, reductions; all of them together), and raw
/// where no collection has it. When collections save does not matter, but readers see it.
///
/// One thread at a time. Every call writes before it returns: a step exists, also after a kill,
/// when the next step() or end_run() has returned. A step in which nothing was saved does not
/// exist. Without end_run() the destructor seals the committed steps, drops the step that is open,
/// and the run stays unfinished.
///
/// Errors are thrown, and leave the committed steps as they are. After a StoreError the writer is
/// broken: every further call is UsageError.
class RunWriter {
 public:
  /// Makes the directory, takes the worker's lock, and writes the collections file. `num_workers`
  /// writers, one for each worker, write a run, at the same time or one after another in any order.
  /// Throws UsageError, and leaves a run that is there as it is, for a finished run that must not
  /// be reused, for a second writer of the worker, for a location that is no directory, for an
  /// illegal name or collection, and for collections whose file readers would not open; StoreError.
  RunWriter(const std::string& directory, const std::string& worker, std::int64_t num_workers,
            Collections collections, RunWriterOptions options = {});
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  /// Commits the open step and opens another one. Throws UsageError, and leaves the open step as it
  /// is, unless `global` is greater than all global steps before and `mode_step` greater than all
  /// steps of the mode before; both begin at 0. In Mode::Global, both are equal. A step whose index
  /// readers would not take is lost; the UsageError has its number, and the next step may be
  /// opened.
  void step(std::int64_t global, Mode mode, std::int64_t mode_step);

  /// Saves a value in the open step. A second value of a name replaces the first one, with a
  /// warning. Throws UsageError without an open step, and for a name or a view that cannot be
  /// saved.
  void save(std::string_view name, const TensorView& view);

  /// Commits the open step, seals all, and ends the run for this worker. The run has ended when all
  /// workers have. Further calls of step() and save() are UsageError.
  void end_run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
