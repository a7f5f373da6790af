#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/trial/tensor_value.h"

namespace cupel {

/// The least and the greatest finite element of a tensor, and how many others it has.
struct ElementSummary {
  double low = std::numeric_limits<double>::infinity();  ///< Greater than `high` if none is finite.
  double high = -std::numeric_limits<double>::infinity();
  std::uint64_t nan = 0;
  std::uint64_t pos_inf = 0;
  std::uint64_t neg_inf = 0;

  bool has_finite() const noexcept { return low <= high; }
  void add(const ElementSummary& other) noexcept;
};

/// Of a value that is not text.
ElementSummary summary_of(const TensorValue& value);

/// How the finite elements of tensors are spread, well enough to find a few that lie far from all
/// others. Takes 1.5 MiB, whatever the number of elements.
class ElementSpread {
 public:
  /// Adds the elements of a value that is not text.
  void add(const TensorValue& value);
  /// The range without outliers: where at most one of ten elements would squeeze all others into a
  /// small part of the whole range, the range of the others and what is near them.
  std::optional<std::pair<double, double>> range_without_outliers() const;

 private:
  // The elements whose sign, exponent and first four bits behind the point are the same.
  struct Bucket {
    std::uint64_t count = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
  };
  std::vector<Bucket> buckets_ = std::vector<Bucket>(std::size_t{1} << 16U);
};

/// Bins of equal width; each holds its lower edge, the last one both.
class Bins {
 public:
  /// Covers what is finite with `most` bins. Whole numbers get a bin each, if there are not too
  /// many of them; a single number gets a width all the same. Nothing finite: no bins.
  Bins(const ElementSummary& summary, bool whole_numbers, std::size_t most);

  std::size_t size() const noexcept { return size_; }
  bool one_number_each() const noexcept { return one_number_each_; }
  double edge(std::size_t i) const noexcept;  ///< The lower one of bin i; edge(size()) is the end.
  std::vector<double> edges() const;          ///< All of them; empty without bins.
  /// The bin of a finite number; what is outside belongs to the nearest.
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

  /// Counts the finite elements of a value that is not text.
  void count(const TensorValue& value, const Bins& bins);
};

/// How many columns of a terminal are left beside the numbers of print_densities().
std::size_t density_columns(const std::vector<HistogramRow>& rows, std::size_t width);

/// One line for each step: the least and the greatest number, what has no bin where there is any,
/// and the density in blocks, each line by its own fullest bin; then the scale of the bins.
///
///     STEP      MIN     MAX  NaN
///        0  -0.7999     0.8    0   ▁▃▅▇█▇▅▃▁
///       10  -0.7713  0.7991    2  ▁▁▄▇█▇▄▂▁
///                                 └────────┘
///                                 -0.8   0.8
void print_densities(Printer out, const std::vector<HistogramRow>& rows, const Bins& bins,
                     std::size_t width);

/// One line for each bin: its edges, how many elements it holds, and a bar; a line before and one
/// behind them for elements outside; then what is not finite.
void print_bars(Printer out, const HistogramRow& row, const Bins& bins, std::size_t width);

}  // namespace cupel
