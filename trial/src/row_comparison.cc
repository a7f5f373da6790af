// Comparing two runs: one tensor at one step from one worker.
//
// The index decides first. Raw values are read only where their checksums, or other statistics in
// the index, differ: nothing is read of two runs that agree. The calling thread reads and compares.
// A damaged or missing value throws, with the name of its run.

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "run_comparer.h"
#include "trial_view.h"
#include "value_reader.h"

namespace cupel::trial_detail {

namespace {

struct NamedCount {
  const char* name;
  std::int64_t ValueCounts::*count;
};
constexpr std::array<NamedCount, 4> kCounts = {{{"nan", &ValueCounts::nan},
                                                {"pos_inf", &ValueCounts::pos_inf},
                                                {"neg_inf", &ValueCounts::neg_inf},
                                                {"zero", &ValueCounts::zero}}};

/// The saved reductions, as bits.
std::uint32_t reductions_of(const SnapshotView::Row& row) noexcept {
  return row.block().flags()[row.row] & RowBlock::kReductions;
}

template <class F>
void for_each_common_reduction(const SnapshotView::Row& a, const SnapshotView::Row& b, F&& visit) {
  for (std::uint32_t rest = reductions_of(a) & reductions_of(b); rest != 0; rest &= rest - 1) {
    const Reduction reduction = Reduction::at(static_cast<std::size_t>(std::countr_zero(rest)));
    visit(reduction, *a.block().reduction(a.row, reduction),
          *b.block().reduction(b.row, reduction));
  }
}

/// Whether all reductions and counts that both have agree bit for bit.
bool same_statistics(const SnapshotView::Row& a, const SnapshotView::Row& b) {
  bool same = true;
  for_each_common_reduction(a, b, [&same](Reduction, double x, double y) {
    same = same && std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
  const std::optional<ValueCounts> counts_a = a.block().counts(a.row);
  const std::optional<ValueCounts> counts_b = b.block().counts(b.row);
  return same && (!counts_a || !counts_b || *counts_a == *counts_b);
}

bool same_inline(const SnapshotView::Row& a, const SnapshotView::Row& b) noexcept {
  return a.block().is_inline(a.row) && b.block().is_inline(b.row) &&
         same_bytes(a.block().inline_value(a.row), b.block().inline_value(b.row));
}

bool same_checksum(const SnapshotView::Row& a, const SnapshotView::Row& b) noexcept {
  return a.block().is_stored(a.row) && b.block().is_stored(b.row) &&
         a.block().length(a.row) == b.block().length(b.row) &&
         a.block().crc32c(a.row) == b.block().crc32c(b.row);
}

bool has_value(const SnapshotView::Row& row) noexcept { return row.block().has_value(row.row); }

/// A raw value without a saved shape counts as one dimension.
bool has_shape(const SnapshotView::Row& row, const RowForm& form) noexcept {
  return form.has_shape || has_value(row);
}

bool same_shape(const RowForm& a, const RowForm& b) noexcept {
  return a.has_shape && b.has_shape ? a.extents == b.extents : shape_of(a) == shape_of(b);
}

/// The index of an element in its tensor.
std::vector<std::int64_t> index_of(std::int64_t element, const Shape& shape) {
  std::vector<std::int64_t> index(shape.rank());
  for (std::size_t axis = shape.rank(); axis > 0; --axis) {
    index[axis - 1] = element % shape[axis - 1];
    element /= shape[axis - 1];
  }
  return index;
}

/// Adds the comparison of one statistic that both rows have.
void compare_one(RunDifference& difference, std::string_view name, const ComparedNumber& a,
                 const ComparedNumber& b, bool same, std::optional<double> apart) {
  ++difference.compared;
  if (same) return;
  if (++difference.differing == 1) {
    difference.statistic = name;
    difference.a->value = a;
    difference.b->value = b;
    difference.difference = apart;
  }
  difference.greatest_difference = std::max(difference.greatest_difference, apart);
}

}  // namespace

const RowForm& RunComparer::Side::form_of(const SnapshotView::Row& row) const noexcept {
  return view.snapshot().data->forms[row.block().form(row.row)];
}

DifferenceSide RunComparer::Side::row_side(const SnapshotView::Row& row) const {
  const RowForm& form = form_of(row);
  DifferenceSide side{.mode = row.rows->mode,
                      .mode_step = row.rows->mode_step,
                      .dtype = form.dtype,
                      .elements = form.elements};
  if (has_shape(row, form)) side.shape = shape_of(form);
  return side;
}

void RunComparer::compare_rows(const std::string& name, const SnapshotView::Row& a,
                               const SnapshotView::Row& b) {
  ++found_.tensors;
  found_.values_only_in_a += has_value(a) && !has_value(b) ? 1 : 0;
  found_.values_only_in_b += has_value(b) && !has_value(a) ? 1 : 0;
  found_.reductions_only_in_a += (reductions_of(a) & ~reductions_of(b)) != 0 ? 1 : 0;
  found_.reductions_only_in_b += (reductions_of(b) & ~reductions_of(a)) != 0 ? 1 : 0;

  const RowForm& form_a = a_.form_of(a);
  const RowForm& form_b = b_.form_of(b);
  const bool both_shapes = has_shape(a, form_a) && has_shape(b, form_b);
  if (form_a.dtype != form_b.dtype) {
    add(difference_at(DifferenceKind::DType, name, a, b));
  } else if (form_a.elements != form_b.elements || (both_shapes && !same_shape(form_a, form_b))) {
    add(difference_at(DifferenceKind::Shape, name, a, b));
  } else if (has_value(a) && has_value(b)) {
    compare_values(name, a, b);
  } else if (const bool any = compare_statistics(name, a, b); !any) {
    ++(both_shapes ? found_.agreements.shapes : found_.agreements.nothing);
  }
  if (found_.same()) ++found_.tensors_before;
}

RunDifference RunComparer::difference_at(DifferenceKind kind, const std::string& name,
                                         const SnapshotView::Row& a,
                                         const SnapshotView::Row& b) const {
  return {.kind = kind,
          .step = step_,
          .tensor = name,
          .worker = std::string(a.worker->name),
          .a = a_.row_side(a),
          .b = b_.row_side(b)};
}

void RunComparer::compare_values(const std::string& name, const SnapshotView::Row& a,
                                 const SnapshotView::Row& b) {
  RunComparison::Agreements& agreements = found_.agreements;
  if (!options_.read_all_values && same_statistics(a, b)) {
    if (same_inline(a, b)) {
      ++agreements.values;
      return;
    }
    if (same_checksum(a, b)) {
      ++agreements.checksums;
      return;
    }
  }
  const TensorValue value_a = read(a_, name, a), value_b = read(b_, name, b);
  report();
  const std::optional<ValueDifference> parted = difference_of(value_a, value_b, tolerance_);
  if (!parted) {
    ++agreements.values;
    return;
  }
  RunDifference difference = difference_at(DifferenceKind::Element, name, a, b);
  difference.a->value = element_of(value_a, parted->first);
  difference.b->value = element_of(value_b, parted->first);
  difference.index = index_of(parted->first, value_a.shape());
  difference.compared = value_a.elements();
  difference.differing = parted->differing;
  difference.difference = parted->at_first;
  difference.greatest_difference = parted->greatest;
  add(std::move(difference));
}

bool RunComparer::compare_statistics(const std::string& name, const SnapshotView::Row& a,
                                     const SnapshotView::Row& b) {
  const std::optional<ValueCounts> counts_a = a.block().counts(a.row);
  const std::optional<ValueCounts> counts_b = b.block().counts(b.row);
  const bool both_counts = counts_a && counts_b;
  if (!both_counts && (reductions_of(a) & reductions_of(b)) == 0) return false;
  if (same_statistics(a, b)) {
    ++found_.agreements.statistics;
    return true;
  }
  // Counts come first: one more NaN explains more than a mean that is NaN.
  RunDifference counts = difference_at(DifferenceKind::Count, name, a, b);
  if (both_counts) {
    for (const NamedCount& one : kCounts) {
      // With a tolerance, an element may be zero in one run and nearly zero in the other.
      if (one.count == &ValueCounts::zero && !tolerance_.is_exact()) continue;
      const std::int64_t x = (*counts_a).*one.count, y = (*counts_b).*one.count;
      compare_one(counts, one.name, x, y, x == y,
                  distance(static_cast<double>(x), static_cast<double>(y)));
    }
  }
  RunDifference reductions = difference_at(DifferenceKind::Reduction, name, a, b);
  for_each_common_reduction(a, b, [&](Reduction reduction, double x, double y) {
    compare_one(reductions, to_string(reduction), x, y, tolerance_.same(x, y), distance(x, y));
  });
  if (counts.differing > 0) {
    add(std::move(counts));
  } else if (reductions.differing > 0) {
    add(std::move(reductions));
  } else {
    ++found_.agreements.statistics;
  }
  return true;
}

TensorValue RunComparer::read(const Side& side, const std::string& name,
                              const SnapshotView::Row& row) {
  const Trial& trial = side.trial;
  try {
    std::optional<TensorValue> value =
        TrialView::of(trial).index->reader().read(*row.rows, row.row);
    if (!value)
      throw TensorUnavailableForStep(
          name, step_, Mode::Global, reductions_of(row) != 0,
          "the events file is missing: " + trial.location() + "/" + row.rows->files->events_key);
    if (row.block().is_stored(row.row)) {
      ++found_.values_read;
      found_.bytes_read += value->bytes().size();
    }
    return *std::move(value);
  } catch (const FormatError& error) {
    // The files of both runs have the same keys.
    throw FormatError(trial.location() + "/" + error.file, error.offset, error.problem);
  }
}

}  // namespace cupel::trial_detail
