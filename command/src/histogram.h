#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::command_detail {

/// The least and the greatest finite element of a tensor, and the counts of its other elements.
struct ElementSummary {
  double low = std::numeric_limits<double>::infinity();  ///< Greater than `high` if none is finite.
  double high = -std::numeric_limits<double>::infinity();
  std::uint64_t nan = 0;
  std::uint64_t pos_inf = 0;
  std::uint64_t neg_inf = 0;

  bool has_finite() const noexcept { return low <= high; }
  void add(const ElementSummary& other) noexcept;
};

/// Returns the summary of a value, which is not text.
ElementSummary summary_of(const TensorValue& value);

/// The distribution of the finite elements of tensors, in coarse classes that suffice to find a few
/// elements far from all others. An object takes 1.5 MiB, whatever the number of elements.
class ElementSpread {
 public:
  /// Adds the elements of a value, which is not text.
  void add(const TensorValue& value);
  /// Returns the range without outliers, where there are outliers: at most one of ten elements,
  /// which would make the range of all others a small part of the whole range.
  std::optional<std::pair<double, double>> range_without_outliers() const;

 private:
  // A class has the elements with the same sign, exponent and first four bits of the fraction.
  struct Bucket {
    std::uint64_t count = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
  };
  std::vector<Bucket> buckets_ = std::vector<Bucket>(std::size_t{1} << 16U);
};

/// Bins of equal width. A bin has its lower edge; the last bin has both edges.
class Bins {
 public:
  /// Covers the finite elements with `most` bins. Whole numbers have a bin each, if there are not
  /// too many of them. The bin of a single number has a width, too. Without finite elements there
  /// are no bins.
  Bins(const ElementSummary& summary, bool whole_numbers, std::size_t most);

  std::size_t size() const noexcept { return size_; }
  bool one_number_each() const noexcept { return one_number_each_; }
  double edge(std::size_t i) const noexcept;  ///< The lower edge of bin i; edge(size()) is the end.
  std::vector<double> edges() const;          ///< All edges; empty without bins.
  /// Returns the bin of a finite number; a number outside belongs to the nearest bin.
  std::size_t index_of(double number) const noexcept;
  bool is_below(double number) const noexcept { return number < low_; }
  bool is_above(double number) const noexcept { return number > high_; }

 private:
  double low_ = 0;
  double high_ = 0;
  std::size_t size_ = 0;
  bool one_number_each_ = false;
};

/// A tensor at a step, as a line of a histogram over steps.
struct HistogramRow {
  std::int64_t step = 0;
  ElementSummary summary;
  std::vector<std::uint64_t> counts = {};  ///< One for each bin; may lack for density_columns().
  std::uint64_t below = 0;                 ///< Finite elements below the first bin.
  std::uint64_t above = 0;                 ///< Finite elements above the last bin.

  /// Counts the finite elements of a value, which is not text.
  void count(const TensorValue& value, const Bins& bins);
};

/// Returns the number of columns that the numbers of print_densities() leave of a terminal.
std::size_t density_columns(const std::vector<HistogramRow>& rows, std::size_t width);

/// Prints one line for each step: the least and the greatest number, the counts of elements without
/// a bin where there are any, and the density in blocks, scaled by the fullest bin of the line. The
/// scale of the bins follows.
///
///     STEP      MIN     MAX  NaN
///        0  -0.7999     0.8    0   ▁▃▅▇█▇▅▃▁
///       10  -0.7713  0.7991    2  ▁▁▄▇█▇▄▂▁
///                                 └────────┘
///                                 -0.8   0.8
void print_densities(Printer out, const std::vector<HistogramRow>& rows, const Bins& bins,
                     std::size_t width);

/// Prints one line for each bin: its edges, its number of elements, and a bar. A line before and
/// one after them count the elements outside; the counts of other elements follow.
void print_bars(Printer out, const HistogramRow& row, const Bins& bins, std::size_t width);

}  // namespace cupel::command_detail
