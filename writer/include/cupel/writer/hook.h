#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"
#include "cupel/core/tensor_view.h"
#include "cupel/writer/hook_configuration.h"
#include "cupel/writer/hook_options.h"

namespace cupel {

class Store;

/// What a Hook did, returned by close().
struct HookReport {
  std::int64_t steps_begun = 0;
  std::int64_t steps_committed = 0;  ///< Steps that saved something and are in the run.
  std::int64_t last_committed_step = -1;
  std::int64_t rows = 0;           ///< Tensors at steps, as `cupel info` and `verify` count them.
  std::int64_t tensors_saved = 0;  ///< The same as rows.
  std::uint64_t value_bytes = 0;   ///< Raw values of them, inline ones included.
  /// Steps lost because the buffers or the spool were full: WhenFull::DropStep, or a full disk.
  std::int64_t steps_dropped = 0;
  std::int64_t steps_left_out = 0;  ///< Due steps that the overhead budget had no time for.
  /// The share of the time since construction that calls of the hook took on training threads.
  double overhead = 0;
  /// The part of `overhead` in which calls waited for the store.
  double waiting = 0;
  /// Steps that were committed and wait in the spool, since the store did not take them until
  /// close_timeout. The problems name the directory of the spool.
  std::int64_t steps_not_uploaded = 0;
  std::uint64_t bytes_not_uploaded = 0;  ///< The size of those steps.
  std::vector<std::string> never_saved;  ///< Names that no saved collection wanted, sorted.
  /// What went wrong, in order; empty when nothing did. Also steps of an earlier attempt that this
  /// one hides for good, and collections that no call put a tensor into (docs/api.md).
  std::vector<std::string> problems;
  /// The notes of the hook to readers of the run about data that is missing: JSON texts, as in
  /// Trial::notes.
  std::vector<std::string> notes;
  bool disabled = false;  ///< An error ended saving; the first problems name it.
};

/// Whether something is due at the present step: one byte, which a hook sets between steps and any
/// thread may read. A hook has one for each tensor name.
class DueFlag {
 public:
  enum class Answer : std::uint8_t {
    No,
    Yes,
    TooLate,  ///< It was due in a step that end_step() has ended.
  };
  void set(Answer answer) noexcept { answer_.store(answer, std::memory_order_relaxed); }
  Answer get() const noexcept { return answer_.load(std::memory_order_relaxed); }
  bool is_due() const noexcept { return get() == Answer::Yes; }

 private:
  std::atomic<Answer> answer_{Answer::No};
};

/// A tensor's name, looked up once. Valid as long as its hook; cheap to copy.
class TensorHandle {
 public:
  TensorHandle() = default;

 private:
  friend class Hook;
  explicit TensorHandle(DueFlag* tensor) noexcept : tensor_(tensor) {}
  DueFlag* tensor_ = nullptr;
};

/// Names of collections given with a call: `{"weights"}`, or a vector of strings.
class CollectionNames {
 public:
  CollectionNames() = default;
  CollectionNames(std::initializer_list<std::string_view> names) : names_(names) {}
  CollectionNames(std::string_view name) : names_{name} {}               // NOLINT(*-explicit-*)
  CollectionNames(const char* name) : names_{std::string_view(name)} {}  // NOLINT(*-explicit-*)
  CollectionNames(const std::string& name) : names_{name} {}             // NOLINT(*-explicit-*)
  CollectionNames(const std::vector<std::string>& names)
      : names_(names.begin(), names.end()) {}  // NOLINT(*-explicit-*)
  std::span<const std::string_view> names() const noexcept { return names_; }
  bool empty() const noexcept { return names_.empty(); }

 private:
  std::vector<std::string_view> names_;
};

/// Saves tensors out of a training loop into a run.
///
/// A step begins with next_step(), which also ends the step before. The values of a step and then
/// its index entry are written by a background thread; with Commit::Step, the call that ends the
/// step returns when they are written. Collections decide which tensors are saved at which steps;
/// configure them before the first next_step().
///
/// Saves may be called from several threads at once, not beside next_step(), end_step(), set_mode()
/// or close(): these wait for saves that have begun, and a save that begins meanwhile is dropped.
/// The first dropped save is a problem of the report. Only handle(), and a save_tensor() that names
/// collections or a tensor that has no handle yet, waits instead: its values then belong to the
/// step that has begun.
/// The bytes of a view have been read when the call returns. After construction nothing is thrown
/// into training (unless on_error is Throw): a failing hook logs once, stops saving, and has the
/// error in its report.
///
/// A hook that is still open when the process exits is closed then. In the child of a fork it does
/// nothing; its parent writes on. With USE_SMDEBUG=0 in the environment every hook wants nothing
/// and touches no disk.
class Hook {
 public:
  /// Throws UsageError for illegal options or a second writer of the same worker; OutDirError
  /// without an out_dir, or for a finished run there that must not be reused; StoreError when the
  /// directory cannot be written, or the store far away cannot be asked for the run that it holds.
  explicit Hook(HookOptions options);
  /// Writes into `store`; out_dir is not used.
  Hook(HookOptions options, std::shared_ptr<Store> store);
  /// Follows a configuration file (hook_configuration.h); writes into `store` if there is one.
  explicit Hook(HookConfiguration configuration, std::shared_ptr<Store> store = nullptr);
  /// Reads the file `path`, by default the one that SMDEBUG_CONFIG_FILE_PATH names; `base` has the
  /// options that the file lacks. Throws UsageError with all mistakes of the file.
  static Hook create_from_json_file(const std::string& path = {}, HookOptions base = {});
  /// Throws what the constructor would throw for the configuration and for the run in out_dir, and
  /// writes nothing: for an adapter that makes its hook later. Other writers are not looked for.
  static void check(HookConfiguration configuration);
  ~Hook();  ///< Closes.
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  /// The collection of that name, made if there is none; configure it before the first step. Later
  /// changes have no effect. An empty name is a UsageError.
  Collection& get_collection(std::string_view name);
  /// Adds a collection, or replaces the one of its name; before the first step.
  void add_collection(Collection collection);
  const Collections& get_collections() const noexcept;
  /// The collections with the names of all tensors that calls have named so far: those that a
  /// pattern finds, and those that a call put there. At any time, also after close(); none in the
  /// child of a fork.
  Collections collections_now() const;

  /// Changes the mode of the steps that begin from now on. Until the next one begins, nothing is
  /// due.
  void set_mode(Mode mode);
  Mode mode() const noexcept;

  /// Begins a step: the first call begins step 0 of the mode and global step 0.
  void next_step();
  /// Begins the step of this number, globally and of the mode. Numbers may have gaps. A number that
  /// is not behind the last step, or is larger than 999999999999, is a UsageError or, if errors are
  /// not thrown, a problem of the report, once: then the step before has ended and none begins.
  /// A next_step() without a number is refused in the same way behind step 999999999999.
  void next_step(std::int64_t step);
  /// Ends the step and commits it, with the promises of next_step(). A second call does nothing.
  /// Until the next step begins, nothing is due, values of save_scalar() and save_tensor_always()
  /// wait for that step, and other saves are left out, which is reported once. When close() comes
  /// first, the values that wait are saved in a step of their own: the last step's number + 1, in
  /// the last step's mode. HookReport::steps_begun does not count that step.
  void end_step();
  std::int64_t step() const noexcept;  ///< The global step; -1 before the first of a new run.
  std::int64_t mode_step(Mode mode) const noexcept;  ///< -1 before the mode's first.

  /// Whether any saved collection is due at this step: one load.
  bool due() const noexcept { return due_->is_due(); }

  /// Looks a name up, joining the named collections; once per tensor, not per step.
  TensorHandle handle(std::string_view name, const CollectionNames& collections = {});

  /// Whether a save of this tensor would be written at this step: one load.
  bool wants(TensorHandle tensor) const noexcept {
    return tensor.tensor_ != nullptr && tensor.tensor_->is_due();
  }
  bool wants(std::string_view name);

  /// Saves the tensor if its collections want it at this step. A second save of a name in a step
  /// replaces the first. A view that cannot be saved is reported once and left out.
  void save_tensor(TensorHandle tensor, const TensorView& view) {
    if (may_save(tensor.tensor_)) save_due(*tensor.tensor_, view);
  }
  void save_tensor(std::string_view name, const TensorView& view,
                   const CollectionNames& collections = {});

  /// Saves what went into a module as "<module>_input_0", "_input_1" … and what came out of it as
  /// "<module>_output_0" …; called again in the same step for the same module, the numbers go on.
  void save_inputs(std::string_view module, std::span<const TensorView> views);
  void save_outputs(std::string_view module, std::span<const TensorView> views);
  /// Saves one number under `name`, as a 0-d f64, at every call. Between steps it belongs to the
  /// step that began last, or after end_step() to the next one; before the first, to step 0.
  void save_scalar(std::string_view name, double value, const CollectionNames& collections = {});
  /// Saves the raw value of a tensor at every call, whatever is due, as save_scalar() does. Values
  /// that wait for a step are copied; they take up to buffer_bytes, and more are left out and
  /// reported.
  void save_tensor_always(std::string_view name, const TensorView& view,
                          const CollectionNames& collections = {});

  // For adapters, which see into a framework by themselves, and make a view only of what is due.

  /// The framework whose names the built-in collections know, as the options have it.
  Profile profile() const noexcept;

  /// All collections as get_collections() has them, without the tensors that calls put there. From
  /// any thread; none in the child of a fork.
  Collections collections_as_configured() const;
  /// Whether a saved collection is due at this step that is none of these. Not beside next_step().
  bool due_beyond(std::span<const std::string_view> collections) const;
  /// Whether a save of a tensor of this name would be written at this step. Unlike wants(), the
  /// hook does not learn the name: an adapter asks before it computes values, and names that get
  /// none are in no list. Not beside next_step().
  bool would_save(std::string_view name) const;

  /// Takes the next number of save_inputs() or save_outputs(), and returns the handle of
  /// "<module>_input_<k>" or "<module>_output_<k>", which joins the named collections. The view is
  /// made if wants() asks for it.
  TensorHandle next_input(std::string_view module, const CollectionNames& collections = {});
  TensorHandle next_output(std::string_view module, const CollectionNames& collections = {});

  /// Reports that one tensor which is due at this step cannot be saved, once for each tensor, as a
  /// save of a view that cannot be saved does; a hook that throws throws it. `why` is a phrase:
  /// "the tensor has no values". For what is no matter of one due tensor, see report_problem().
  void leave_out(TensorHandle tensor, std::string_view why);
  /// Reports a save that no step can have, as save_tensor() does: before the first step by one line
  /// in the log, after end_step() as a problem. For a tensor whose user saved it by the adapter,
  /// and that wants() does not ask for; without effect where the present step merely does not want
  /// it.
  void report_outside_step(TensorHandle tensor);
  /// Adds a problem to the log and to the report of close() at each call: for data without a due
  /// tensor, as a kind of values that the framework did not give. It is never thrown, whatever
  /// on_error is. From any thread; without effect after close().
  void report_problem(std::string_view what) noexcept;

  /// Has `deliver` called when next_step(), end_step(), set_mode() or close() begins, on its
  /// thread, so that an adapter saves what it holds back before the step ends. It must not throw,
  /// and is called until an empty function ends that. Throws UsageError where a function is set: a
  /// hook serves one adapter that holds values back. Not beside other calls.
  void deliver_before_step_ends(std::function<void()> deliver);

  /// The last step whose values and index entry are in the store; -1 before the first. From any
  /// thread.
  std::int64_t committed_step() const noexcept;

  /// Whether a rule's stop action, or anybody else, has asked the training to stop. Looked up when
  /// a step begins or ends; where the store cannot append, every two seconds in the background.
  bool stop_requested() const noexcept;

  /// Flushes, seals, writes the end marker, and returns what was done. Where the store cannot
  /// append, it waits for uploads, at most close_timeout. A second call returns the same.
  HookReport close();

 private:
  struct State;
  static bool may_save(const DueFlag* tensor) noexcept {
    return tensor != nullptr && tensor->get() != DueFlag::Answer::No;
  }
  void save_due(DueFlag& tensor, const TensorView& view);
  void save_values_of(std::string_view module, const char* side, std::span<const TensorView> views);
  TensorHandle next_value_of(std::string_view module, const char* side,
                             const CollectionNames& collections);
  std::unique_ptr<State> state_;
  const DueFlag* due_;  // of the state
};

}  // namespace cupel
