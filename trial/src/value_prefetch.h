#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cupel/core/reduction.h"
#include "cupel/store/store.h"
#include "cupel/trial/tensor_value.h"
#include "index_data.h"
#include "row_plan.h"
#include "step_merge.h"
#include "trial_index.h"
#include "value_cache.h"

namespace cupel::trial_detail {

/// Reads the raw values of one step's rows in the order of a plan: when a value is taken, the next
/// ones are prefetched in the same request, since most visitors take them all. One thread.
class ValuePrefetch {
 public:
  /// Borrows all of it.
  ValuePrefetch(TrialIndex& index, std::span<const StepPart> parts,
                std::span<const RowPlan::Row> rows)
      : reader_(index.reader()), cache_(index.values()), parts_(parts), rows_(rows) {}

  /// The value of the plan's nth row, as ValueReader::read() returns it. If `unless_saved` is
  /// given, the values of rows that have this reduction in the index are not prefetched.
  std::optional<TensorValue> take(std::size_t nth, std::optional<Reduction> unless_saved);

 private:
  void read_from(std::size_t nth, std::optional<Reduction> unless_saved);
  ValueCache::Key key_of(std::size_t nth) const noexcept {
    return {parts_[rows_[nth].part].rows->block, row_of(nth)};
  }
  std::size_t row_of(std::size_t nth) const noexcept {
    return std::size_t{parts_[rows_[nth].part].rows->first_row} + rows_[nth].position;
  }

  ValueReader& reader_;
  ValueCache& cache_;
  const std::span<const StepPart> parts_;
  const std::span<const RowPlan::Row> rows_;
  std::vector<std::size_t> read_;  // the rows of values_, rising
  std::vector<std::optional<TensorValue>> values_;
  std::size_t next_ = 0;  // the first of both that was neither taken nor passed
  bool one_by_one_ = false;
};

}  // namespace cupel::trial_detail
