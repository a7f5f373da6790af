#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/value_counts.h"
#include "cupel/trial/tensor.h"
#include "cupel/trial/tensor_value.h"

namespace cupel {

namespace trial_detail {
class SelectionState;
}

/// Selects tensors for queries that are repeated at many steps: the tensors that any of the
/// collections has, and those in whose names a pattern is found; all tensors if neither is given.
///
/// Each name is matched once, when it first appears, and each combination of names in a step is
/// resolved once; the results stay valid while the run grows. The collections are those of the run.
/// Use a selection with the views of one run (with another run it starts anew), and from one thread
/// at a time.
class NameSelection {
 public:
  NameSelection();  ///< All tensors.
  explicit NameSelection(std::vector<std::string> collections, PatternList patterns = {});
  ~NameSelection();
  NameSelection(NameSelection&&) noexcept;
  NameSelection& operator=(NameSelection&&) noexcept;

  const std::vector<std::string>& collections() const noexcept;
  const PatternList& patterns() const noexcept;

 private:
  friend class trial_detail::SelectionState;
  std::unique_ptr<trial_detail::SelectionState> state_;
};

/// One tensor at one step from one worker, read from the index in place: the contents of a
/// TensorRecord, without making one. Valid during the call of the visitor that gets it; the names
/// of the tensor and of the worker live as long as the trial and its views.
class RecordView {
 public:
  const std::string& tensor() const noexcept;
  std::string_view worker() const noexcept;
  /// The global step.
  std::int64_t step() const noexcept;
  Mode mode() const noexcept;
  std::int64_t mode_step() const noexcept;
  DType dtype() const noexcept;
  std::int64_t elements() const noexcept;
  /// Whether the raw value was saved.
  bool has_value() const noexcept;
  /// The counts of special elements; nothing if they were not saved.
  std::optional<ValueCounts> counts() const noexcept;
  /// The saved reduction; nothing if it was not saved.
  std::optional<double> reduction(Reduction reduction) const noexcept;
  /// All saved reductions.
  ReductionValues reductions() const noexcept;
  /// The reduction, computed from the raw value; nothing if the value was not saved, is text, or
  /// its file is missing. Throws FormatError if the value is damaged. The values of the next
  /// records are prefetched, because most visitors that ask for one value ask for all.
  std::optional<double> computed(Reduction reduction) const;
  /// The raw value; nothing if it was not saved or its file is missing. Prefetches likewise. Throws
  /// FormatError if the value is damaged.
  std::optional<TensorValue> value() const;
  /// A copy that stays valid after the visit.
  TensorRecord record() const;

  RecordView(const RecordView&) = delete;
  RecordView& operator=(const RecordView&) = delete;

 private:
  friend class Trial;
  struct Place;
  explicit RecordView(const Place& place) noexcept : place_(place) {}
  const Place& place_;
};

}  // namespace cupel
