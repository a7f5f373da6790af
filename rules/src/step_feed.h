#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cupel/trial/trial.h"
#include "runner_step.h"

namespace cupel::runner_detail {

struct StepFeedOptions {
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step = std::nullopt;  ///< Exclusive.
  bool wait = true;
  std::optional<std::chrono::milliseconds> idle_timeout = std::nullopt;
  std::chrono::milliseconds tick_interval = std::chrono::seconds(1);
  bool until_writer_gone = false;
  bool notes = false;  ///< Steps carry what hooks noted up to them.
  /// Of a runner that goes on after a restart: how often attempts had taken over by then, and the
  /// first step that was not judged.
  std::optional<std::size_t> rewinds_before = std::nullopt;
  std::int64_t first_fresh_step = 0;
  std::int64_t first_fresh_note = 0;  ///< Notes of earlier steps were told.
};

/// Follows a run and hands over each new complete step, once. Of one thread, which is in follow().
class StepFeed {
 public:
  struct Sink {
    virtual ~Sink() = default;
    virtual void add(std::vector<Step> steps) = 0;
    /// Time has passed; `snapshot` is the newest.
    virtual void tick(std::chrono::steady_clock::time_point now,
                      std::shared_ptr<const Snapshot> snapshot) = 0;
    /// The run is Interrupted, or Running again.
    virtual void status_changed(RunStatus status) = 0;
    /// Whether nothing more is wanted; asked before each wait, which Trial::wake() ends.
    virtual bool enough() = 0;
  };

  /// Why there are no more steps.
  struct End {
    bool idle = false;
    std::exception_ptr error = nullptr;             ///< The run cannot be read any further.
    std::vector<Note> notes = {};                   ///< Behind the last step.
    std::shared_ptr<const Snapshot> snapshot = {};  ///< The last; null if there never was one.
  };

  /// Borrows both.
  StepFeed(Trial& trial, Sink& sink, const StepFeedOptions& options)
      : trial_(trial), sink_(sink), options_(options), noted_before_(options.first_fresh_note) {}

  /// Returns when the run has ended, or the options say so, or the sink.
  End follow();

 private:
  bool hand_over(bool incomplete_steps = false);
  bool is_interrupted();
  std::optional<Step> rewind() const;
  void attach_notes(std::vector<Step>& fresh);
  std::vector<Note> fresh_notes(std::int64_t end);

  Trial& trial_;
  Sink& sink_;
  const StepFeedOptions options_;
  std::optional<std::int64_t> last_;
  std::shared_ptr<const Snapshot> last_snapshot_;
  bool interrupted_ = false;
  std::int64_t noted_before_;  // notes of steps before this one are told
  // Which those are: after a rewind some steps are looked at again.
  std::set<std::tuple<std::int64_t, std::string, std::string>> noted_;
};

}  // namespace cupel::runner_detail
