#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
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

/// What a Hook did, told by close().
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
  /// The share of the time since construction that calls of the hook took on training threads,
  double overhead = 0;
  double waiting = 0;  ///< and the part of it in which they waited for the store.
  /// What was committed and waits in the spool, since the store did not take it until
  /// close_timeout. The problems say where it is.
  std::int64_t steps_not_uploaded = 0;
  std::uint64_t bytes_not_uploaded = 0;
  std::vector<std::string> never_saved;  ///< Names that no saved collection wanted, sorted.
  /// What went wrong, in order; empty when nothing did. Also steps of an earlier attempt that this
  /// one hides for good, and collections that no call put a tensor into (docs/api.md).
  std::vector<std::string> problems;
  /// What the hook told readers of the run about data that is missing: JSON texts, as in
  /// Trial::notes.
  std::vector<std::string> notes;
  bool disabled = false;  ///< An error ended saving; the first problems say which.
};

namespace detail {

// What a tensor's collections make of the present step; shared by all tensors of the same
// collections.
struct SaveGroup {
  std::atomic<bool> due{false};
};

// One tensor name that a hook knows.
struct TensorEntry {
  std::atomic<const SaveGroup*> group{nullptr};
};

}  // namespace detail

/// A tensor's name, looked up once. Valid as long as its hook; cheap to copy.
class TensorHandle {
 public:
  TensorHandle() = default;

 private:
  friend class Hook;
  explicit TensorHandle(detail::TensorEntry* entry) noexcept : entry_(entry) {}
  detail::TensorEntry* entry_ = nullptr;
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
/// A step begins with next_step(), which also ends the step before: that one's values and then its
/// index entry are written by a background thread, and with Commit::Step it returns when they are.
/// Which tensors are saved at which steps is decided by collections; configure them before the
/// first next_step().
///
/// Saves may be called from several threads at once, not beside next_step(), set_mode() or close():
/// these wait for saves that have begun, and a save that begins meanwhile is dropped. The first
/// dropped save is a problem of the report. Only handle(), and a save_tensor() that names
/// collections or a tensor that has no handle yet, waits instead: what it saves then belongs to the
/// step that has begun.
/// The bytes of a view have been read when the call returns. After construction nothing is thrown
/// into training (unless on_error is Throw): a failing hook logs once, stops saving, and tells in
/// its report.
///
/// A hook that is still open when the process exits is closed then. In the child of a fork it does
/// nothing, and what it was writing stays its parent's. With USE_SMDEBUG=0 in the environment every
/// hook wants nothing and touches no disk.
class Hook {
 public:
  /// Throws UsageError for illegal options, an out_dir that must not be reused, or a second writer
  /// of the same worker; StoreError when the directory cannot be written, or the store far away
  /// cannot be asked what it holds.
  explicit Hook(HookOptions options);
  /// The same into a store of the caller's; out_dir is not looked at.
  Hook(HookOptions options, std::shared_ptr<Store> store);
  /// As a configuration file says (hook_configuration.h); into `store` if there is one.
  explicit Hook(HookConfiguration configuration, std::shared_ptr<Store> store = nullptr);
  /// Reads the file `path`, by default the one that SMDEBUG_CONFIG_FILE_PATH names, with `base` for
  /// what it does not say. Throws UsageError with all mistakes of the file.
  static Hook create_from_json_file(const std::string& path = {}, HookOptions base = {});
  ~Hook();  ///< Closes.
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  /// The collection of that name, made if there is none; configure it before the first step. What
  /// is changed later has no effect. An empty name is a UsageError.
  Collection& get_collection(std::string_view name);
  /// Adds a collection, or replaces the one of its name; before the first step.
  void add_collection(Collection collection);
  const Collections& get_collections() const noexcept;

  /// Changes the mode of the steps that begin from now on. Until the next one begins, nothing is
  /// due.
  void set_mode(Mode mode);
  Mode mode() const noexcept;

  /// Begins a step: the first call begins step 0 of the mode and global step 0.
  void next_step();
  std::int64_t step() const noexcept;  ///< The global step; -1 before the first of a new run.
  std::int64_t mode_step(Mode mode) const noexcept;  ///< -1 before the mode's first.

  /// Looks a name up, joining the named collections; once per tensor, not per step.
  TensorHandle handle(std::string_view name, const CollectionNames& collections = {});

  /// Whether a save of this tensor would be written at this step: one load.
  bool wants(TensorHandle tensor) const noexcept { return is_due(tensor.entry_); }
  bool wants(std::string_view name);

  /// Saves the tensor if its collections want it at this step. A second save of a name in a step
  /// replaces the first. A view that cannot be saved is reported once and left out.
  void save_tensor(TensorHandle tensor, const TensorView& view) {
    if (is_due(tensor.entry_)) save_due(tensor.entry_, view);
  }
  void save_tensor(std::string_view name, const TensorView& view,
                   const CollectionNames& collections = {});

  /// Saves what went into a module as "<module>_input_0", "_input_1" … and what came out of it as
  /// "<module>_output_0" …; called again in the same step for the same module, the numbers go on.
  void save_inputs(std::string_view module, std::span<const TensorView> views);
  void save_outputs(std::string_view module, std::span<const TensorView> views);

  /// Saves one number under `name`, as a 0-d f64, at every call. Between steps it belongs to the
  /// step that began last; before the first, to step 0.
  void save_scalar(std::string_view name, double value, const CollectionNames& collections = {});

  /// The last step whose values and index entry are in the store; -1 before the first. From any
  /// thread.
  std::int64_t committed_step() const noexcept;

  /// Whether somebody (a rule's stop action) asked the training to stop. Looked up at step
  /// boundaries; where the store cannot append, every two seconds in the background.
  bool stop_requested() const noexcept;

  /// Flushes, seals, writes the end marker, and tells what was done. Where the store cannot append,
  /// it waits for uploads, at most close_timeout. A second call tells the same.
  HookReport close();

 private:
  struct State;
  static bool is_due(const detail::TensorEntry* entry) noexcept {
    return entry != nullptr &&
           entry->group.load(std::memory_order_acquire)->due.load(std::memory_order_relaxed);
  }
  void save_due(detail::TensorEntry* entry, const TensorView& view);
  void save_values_of(std::string_view module, const char* side, std::span<const TensorView> views);
  std::unique_ptr<State> state_;
};

}  // namespace cupel
