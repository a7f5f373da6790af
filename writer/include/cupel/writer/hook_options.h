#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// What to do when out_dir already holds a finished run. An unfinished run is always gone on with
/// as a new attempt, except that Replace removes it where there is one worker only.
enum class Existing {
  Refuse,   ///< UsageError from the constructor.
  Replace,  ///< Remove the run.
  /// Add to the run as a new attempt. Steps are counted on behind the last one of the run, or from
  /// the step of checkpoint metadata (docs/resuming.md). They hide those of the same number and
  /// later.
  Continue,
};

/// When next_step() and end_step() return. close() always writes everything first.
enum class Commit {
  Step,        ///< When the step that ends is committed: a kill loses no acknowledged step.
  Background,  ///< At once; Hook::committed_step() is the last step that a kill cannot cost.
};

/// What is made durable against power loss.
enum class Sync {
  Seal,  ///< Each segment when it is sealed.
  Step,  ///< Each step.
  Off,   ///< Nothing: the system writes when it likes.
};

/// What a save does when the buffers are full.
enum class WhenFull {
  Block,     ///< Waits: nothing is lost, however slow the store is.
  DropStep,  ///< Leaves out the whole step, counts it, and adds a note to the run.
};

/// Who brings a run to a store that cannot append, as S3.
enum class S3Sync {
  On,  ///< The hook, in the background.
  /// Another program: the spool is an ordinary run directory that nothing is removed from, and the
  /// store is not asked for anything. Each worker has a spool of its own, so that nobody writes the
  /// end of a run of several workers.
  Off,
};

/// What becomes of an error after construction.
enum class OnError {
  Disable,  ///< The hook logs it once, stops saving, and has it in the report; training goes on.
  /// The error leaves the call that meets it; an error of the store, the call that ends a step.
  /// Steps that only close() finds to be lost are in its report.
  Throw,
};

/// How a Hook saves. Every field has a default but out_dir.
struct HookOptions {
  // ---- The run ----------------------------------------------------------------------------------

  /// A directory, or a location of one of `schemes`, such as "s3://bucket/prefix". "~/" is the
  /// home, {time} becomes the UTC start time, {job} TRAINING_JOB_NAME or the process id.
  std::string out_dir = {};
  /// What to do when out_dir already holds a finished run.
  Existing existing = Existing::Refuse;
  /// The stores that out_dir may name beside directories. Empty: built_in_schemes(), which are all
  /// stores of the build in a program that links cupel::cupel. Another program passes its own, such
  /// as {s3_scheme()}.
  StoreSchemes schemes = {};

  // ---- What is saved, and when ------------------------------------------------------------------

  /// Names of collections to save, beside those that are always saved: losses, and metrics where
  /// the profile has them.
  std::vector<std::string> include_collections = {};
  /// Patterns that are added to the collection "default", which is then saved.
  std::vector<std::string> include_regex = {};
  /// Whether every tensor is saved, as the collection "all".
  bool save_all = false;
  /// The steps that are saved; a collection may have its own. Default: every 500 steps (profile
  /// XGBoost: every 10).
  SaveConfig save_config = {};
  /// What is saved of a tensor; a collection may have its own. Unset: raw values.
  std::optional<ReductionConfig> reduction_config = std::nullopt;
  /// The framework whose tensor names the built-in collections know.
  Profile profile = Profile::Generic;

  // ---- Workers ----------------------------------------------------------------------------------

  /// "one": only the chief (worker_0) writes; "all": every worker writes its own files.
  std::string include_workers = "one";
  /// This worker's name. Empty: worker_<n> by RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID, else
  /// worker_0.
  std::string worker = {};
  /// The number of workers of the run; used when include_workers is "all". Unset: WORLD_SIZE,
  /// OMPI_COMM_WORLD_SIZE or SLURM_NTASKS, else 1.
  std::optional<std::int64_t> num_workers = std::nullopt;

  // ---- Trying out -------------------------------------------------------------------------------

  /// Whether the hook only logs, at level debug, which tensors it would save, and writes nothing.
  bool dry_run = false;

  // ---- Commits and errors -----------------------------------------------------------------------

  /// When next_step() and end_step() return.
  Commit commit = Commit::Step;
  /// The longest wait for a commit. A step that takes longer is not acknowledged, a note in the run
  /// names it, and later steps do not wait until the writer has caught up.
  std::chrono::milliseconds commit_timeout = std::chrono::seconds(5);
  /// The function that a call which waits for a commit asks every 50 ms, on its thread, whether the
  /// user interrupts the program. The wait ends then, and the step is committed in the background.
  /// Unset: a wait ends by the commit or after commit_timeout.
  std::function<bool()> interrupted = {};
  /// What is made durable against power loss.
  Sync sync = Sync::Seal;
  /// What becomes of an error after construction.
  OnError on_error = OnError::Disable;

  // ---- Memory and time --------------------------------------------------------------------------

  /// Memory for values on their way to the store, at least 1 MiB.
  std::uint64_t buffer_bytes = 256ULL << 20U;
  /// What a save does when that memory, or the spool, is full.
  WhenFull when_full = WhenFull::Block;
  /// The largest share of the training's time that saving may take, such as 0.01. Unset: no limit.
  /// While the share is larger, the hook does without, in this order: waiting for commits, raw
  /// values beyond 64 bytes (their reductions are saved), due steps (one of 2, 4, 8 … is saved). A
  /// note in the run names each change, and the hook returns to full saving as soon as the budget
  /// allows. Meanwhile it does not wait for room either: a step that finds the buffers full is left
  /// out, whatever when_full is. save_scalar() and save_tensor_always() save at every level.
  std::optional<double> overhead_budget = std::nullopt;

  // ---- Files ------------------------------------------------------------------------------------

  /// The size at which a segment is sealed, by the step that reaches it.
  std::uint64_t segment_bytes = 64ULL << 20U;
  /// The age at which a segment is sealed. Unset: 60 s, and 10 s where a segment can be read only
  /// when it is sealed, as on S3.
  std::optional<std::chrono::milliseconds> segment_age = std::nullopt;

  // ---- Stores that cannot append, as S3 (docs/s3.md) --------------------------------------------
  //
  // Values are written to a spool on a local disk, and are committed when they are there. Sealed
  // segments are uploaded from the spool in the background.

  /// The directory of spools. Empty: CUPEL_SPOOL_DIR, else cupel/spool in XDG_STATE_HOME, else
  /// ~/.local/state/cupel/spool. Each run and worker has a directory of its own below it.
  std::string spool_dir = {};
  /// The size that a spool may have, at least 1 MiB; the last GiB of the disk is left free in any
  /// case. With WhenFull::Block a full spool makes saving wait until uploads have made room.
  std::uint64_t spool_bytes = 16ULL << 30U;
  /// The number of requests that are under way at once, 1 to 64. Each holds an object in memory,
  /// all together 256 MiB at most or a single object.
  std::int64_t upload_parallelism = 4;
  /// The longest that close() waits for uploads. What is not uploaded then stays in the spool, and
  /// the report names the spool.
  std::chrono::milliseconds close_timeout = std::chrono::minutes(10);
  /// Who uploads.
  S3Sync s3_sync = S3Sync::On;

  // ---- TensorBoard: these do not act yet --------------------------------------------------------

  /// Kept for configurations that name it. It does not act yet: this version exports nothing, and
  /// warns once.
  bool export_tensorboard = false;
  /// Kept for configurations that name it. It does not act yet.
  std::string tensorboard_dir = {};
};

}  // namespace cupel
