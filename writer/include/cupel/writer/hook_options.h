#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// What to do when out_dir already holds a finished run. An unfinished one is always gone on with
/// as a new attempt, except that Replace removes it where there is one worker only.
enum class Existing {
  Refuse,   ///< UsageError from the constructor.
  Replace,  ///< Remove it.
  /// Add to it as a new attempt. Steps are counted on behind the last one of the run, or from where
  /// checkpoint metadata says (docs/resuming.md); they hide those of the same number and later.
  Continue,
};

/// When next_step() returns. close() always writes everything first.
enum class Commit {
  Step,        ///< When the step before is committed: a kill loses nothing that was acknowledged.
  Background,  ///< At once; Hook::committed_step() says what is safe.
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
  DropStep,  ///< Leaves out the whole step, counts it, and says so in a note of the run.
};

/// Who brings a run to a store that cannot append, as S3.
enum class S3Sync {
  On,  ///< The hook, in the background.
  /// Somebody else: the spool is an ordinary run directory that nothing is removed from, and the
  /// store is not asked for anything. Each worker has its own, so that nobody writes the end of a
  /// run of several.
  Off,
};

enum class OnError {
  Disable,  ///< Log once, stop saving, tell in the report; training goes on.
  /// Let it out of the call that meets it; the store's errors, out of the next step's. Steps that
  /// only close() finds to be lost are in its report.
  Throw,
};

/// How a Hook saves. Every field has a default but out_dir.
struct HookOptions {
  /// A directory, or a location of one of `schemes`, such as "s3://bucket/prefix". "~/" is the
  /// home, {time} becomes the UTC start time, {job} TRAINING_JOB_NAME or the process id.
  std::string out_dir = {};
  /// The stores that out_dir may name beside directories. Empty: built_in_schemes(), which are all
  /// stores of the build in a program that links cupel::cupel. Another program passes its own, such
  /// as {s3_scheme()}.
  StoreSchemes schemes = {};
  Existing existing = Existing::Refuse;

  /// Collections to save, beside those that are always saved (losses; metrics where the profile has
  /// them).
  std::vector<std::string> include_collections = {};
  /// Patterns added to the collection "default", which is then saved.
  std::vector<std::string> include_regex = {};
  bool save_all = false;  ///< Save every tensor (collection "all").
  /// When to save; collections may have their own. Default: every 500 steps (profile XGBoost: every
  /// 10).
  SaveConfig save_config = {};
  /// What to save; collections may have their own. Unset: raw values.
  std::optional<ReductionConfig> reduction_config = std::nullopt;
  Profile profile = Profile::Generic;  ///< Whose tensor names the built-in collections know.

  /// "one": only the chief (worker_0) writes; "all": every worker writes its own files.
  std::string include_workers = "one";
  /// Empty: worker_<n> by RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID, else worker_0.
  std::string worker = {};
  /// How many workers the run has; counts when include_workers is "all". Unset: WORLD_SIZE,
  /// OMPI_COMM_WORLD_SIZE or SLURM_NTASKS, else 1.
  std::optional<std::int64_t> num_workers = std::nullopt;

  bool dry_run = false;  ///< Decide and log, write nothing.

  Commit commit = Commit::Step;
  /// The longest that next_step() waits for a commit; then the step is not acknowledged, a note
  /// says so, and later steps do not wait until the writer has caught up.
  std::chrono::milliseconds commit_timeout = std::chrono::seconds(5);
  Sync sync = Sync::Seal;
  OnError on_error = OnError::Disable;

  /// Memory for values on their way to the store, at least 1 MiB. What happens when it is full,
  /// when_full says.
  std::uint64_t buffer_bytes = 256ULL << 20U;
  WhenFull when_full = WhenFull::Block;

  /// The largest share of the training's time that saving may take, such as 0.01; unset: what it
  /// takes. While the share is above it, the hook does without, in this order: waiting for commits,
  /// raw values beyond 64 bytes (their reductions are saved), due steps (one of 2, 4, 8 … is
  /// saved). It notes each change in the run, and comes back as soon as the budget allows.
  /// Meanwhile it does not wait for room either: a step that finds the buffers full is left out,
  /// whatever when_full says. save_scalar() saves at every level.
  std::optional<double> overhead_budget = std::nullopt;

  /// A segment is sealed at the first step that makes it this large,
  std::uint64_t segment_bytes = 64ULL << 20U;
  /// or this old. Unset: 60 s, and 10 s where a segment can be read only when it is sealed, as on
  /// S3.
  std::optional<std::chrono::milliseconds> segment_age = std::nullopt;

  /// What follows matters where the store cannot append, as S3. What is saved is written to a spool
  /// on a local disk, and committed when it is there; sealed segments are uploaded from it in the
  /// background (docs/s3.md).
  ///
  /// Where spools are. Empty: CUPEL_SPOOL_DIR, else cupel/spool in XDG_STATE_HOME, else
  /// ~/.local/state/cupel/spool. Each run and worker has a directory of its own below it.
  std::string spool_dir = {};
  /// What the spool may hold, at least 1 MiB; the last GiB of the disk is left free in any case.
  /// What happens when it is full, when_full says: Block waits for uploads to make room.
  std::uint64_t spool_bytes = 16ULL << 30U;
  /// Requests that are under way at once, 1 to 64. Each holds an object in memory, all together 256
  /// MiB at most or a single object.
  std::int64_t upload_parallelism = 4;
  /// The longest that close() waits for uploads; what is left then stays in the spool, and the
  /// report tells.
  std::chrono::milliseconds close_timeout = std::chrono::minutes(10);
  S3Sync s3_sync = S3Sync::On;

  /// Kept for configurations that name them; this version does not export, and warns once.
  bool export_tensorboard = false;
  std::string tensorboard_dir = {};
};

}  // namespace cupel
