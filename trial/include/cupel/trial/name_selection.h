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

class Trial;
namespace trial_detail {
class RunComparer;
}

/// Which tensors somebody looks at again and again, step after step: those that any of the
/// collections has, and those in whose names a pattern is found; all of them if neither is given.
///
/// Each name is searched once, when it first appears, and each combination of names that steps have
/// is resolved once; both stay valid while the run goes on. What a collection selects is the run's,
/// and follows it. Use it with the views of one run (with another it starts anew), from one thread
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
  friend class Trial;
  friend class trial_detail::RunComparer;
  struct State;
  std::unique_ptr<State> state_;
};

/// One tensor at one step from one worker, looked at where the index holds it: what a TensorRecord
/// says, without making one. Valid during the call of the visitor that it was handed to; the name
/// of the tensor and the worker's live as long as the trial and its views.
class RecordView {
 public:
  const std::string& tensor() const noexcept;
  std::string_view worker() const noexcept;
  std::int64_t step() const noexcept;  ///< Global.
  Mode mode() const noexcept;
  std::int64_t mode_step() const noexcept;
  DType dtype() const noexcept;
  std::int64_t elements() const noexcept;
  bool has_value() const noexcept;  ///< The raw value was saved.
  std::optional<ValueCounts> counts() const noexcept;
  std::optional<double> reduction(Reduction reduction) const noexcept;  ///< The saved one.
  ReductionValues reductions() const noexcept;                          ///< All that were saved.
  /// The reduction of the raw value, whether it was saved or not; nothing where there is no such
  /// value: it was not saved, is text, or its file is missing. Throws FormatError if it is damaged.
  /// Values of records that follow are read together with it, for whoever asks for one mostly asks
  /// for all.
  std::optional<double> computed(Reduction reduction) const;
  /// The raw value, with those of records that follow read likewise; nothing where it was not saved
  /// or its file is missing. Throws FormatError if it is damaged.
  std::optional<TensorValue> value() const;
  /// The same as a value of its own.
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
