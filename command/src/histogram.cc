// Histograms over the steps of a tensor. Values are read twice: once for the range and the outliers
// (ElementSpread), once for the counts, so that memory holds one value at a time. Bins are of equal
// width, or one for each whole number. Any finite doubles are legal: ranges that overflow are
// computed from halves. Nothing here reads a run or fails.

#include "histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "axis_ticks.h"
#include "bar_text.h"
#include "cupel/core/element_type.h"
#include "cupel/core/number_text.h"
#include "plot.h"
#include "table.h"

namespace cupel::command_detail {
namespace {

// Calls `f` with every element as a double.
template <class F>
void for_each_element(const TensorValue& value, F&& f) {
  if (value.dtype() == DType::Utf8) return;
  with_element_type(value.dtype(), [&]<class T>(T) {
    for (const T element : value.as<T>()) f(as_double(element));
  });
}

// Returns all digits of a number that a double holds exactly.
std::string whole_number_text(double number) {
  constexpr double kExact = 9007199254740992;
  return std::abs(number) < kExact ? std::to_string(std::llround(number)) : shortest_text(number);
}

std::string label_of(double number) { return scale_labels({number}).front(); }

// Returns blocks as high as the counts, scaled by the greatest. A count above 0 is always visible.
std::string density(const std::vector<std::uint64_t>& counts, std::size_t cells_each) {
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::uint64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::string text;
  for (const std::uint64_t count : counts) {
    const double share = most == 0 ? 0 : static_cast<double>(count) / static_cast<double>(most);
    const char* const block = kBlocks[static_cast<std::size_t>(std::ceil(share * 8))];
    for (std::size_t i = 0; i < cells_each; ++i) text += block;
  }
  return text;
}

// A column of the table of densities, which is shown where any row has a count for it.
struct CountColumn {
  const char* name;
  std::uint64_t (*count)(const HistogramRow&);
};
constexpr CountColumn kCountColumns[] = {
    {"BELOW", [](const HistogramRow& row) { return row.below; }},
    {"ABOVE", [](const HistogramRow& row) { return row.above; }},
    {"NaN", [](const HistogramRow& row) { return row.summary.nan; }},
    {"inf", [](const HistogramRow& row) { return row.summary.pos_inf; }},
    {"-inf", [](const HistogramRow& row) { return row.summary.neg_inf; }}};

// The numbers of the lines, with an empty last cell for the drawing.
Table table_of_numbers(const std::vector<HistogramRow>& rows,
                       const std::vector<std::string>& drawn) {
  std::vector<std::string> header = {"STEP", "MIN", "MAX"};
  std::vector<CountColumn> columns;
  for (const CountColumn& column : kCountColumns) {
    const auto has = [&](const HistogramRow& row) { return column.count(row) > 0; };
    if (!std::any_of(rows.begin(), rows.end(), has)) continue;
    columns.push_back(column);
    header.emplace_back(column.name);
  }
  std::vector<Table::Align> alignment(header.size(), Table::Align::Right);
  header.emplace_back();
  Table table(std::move(header), std::move(alignment));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ElementSummary& summary = rows[i].summary;
    const bool finite = summary.has_finite();
    std::vector<std::string> cells = {std::to_string(rows[i].step),
                                      finite ? label_of(summary.low) : "-",
                                      finite ? label_of(summary.high) : "-"};
    for (const CountColumn& column : columns)
      cells.push_back(std::to_string(column.count(rows[i])));
    if (i < drawn.size()) cells.push_back(drawn[i]);
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

void ElementSummary::add(const ElementSummary& other) noexcept {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  nan += other.nan;
  pos_inf += other.pos_inf;
  neg_inf += other.neg_inf;
}

ElementSummary summary_of(const TensorValue& value) {
  ElementSummary summary;
  for_each_element(value, [&summary](double number) {
    if (std::isnan(number)) {
      ++summary.nan;
    } else if (std::isinf(number)) {
      ++(number > 0 ? summary.pos_inf : summary.neg_inf);
    } else {
      summary.low = std::min(summary.low, number);
      summary.high = std::max(summary.high, number);
    }
  });
  return summary;
}

void ElementSpread::add(const TensorValue& value) {
  for_each_element(value, [this](double number) {
    if (!std::isfinite(number)) return;
    // The bits of a double, in an order that is the order of doubles.
    const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);  // turns -0 into 0
    const bool is_negative = bits >> 63U != 0;
    const std::uint64_t rising = is_negative ? ~bits : bits | std::uint64_t{1} << 63U;
    Bucket& bucket = buckets_[rising >> 48U];
    ++bucket.count;
    bucket.low = std::min(bucket.low, number);
    bucket.high = std::max(bucket.high, number);
  });
}

std::optional<std::pair<double, double>> ElementSpread::range_without_outliers() const {
  constexpr std::uint64_t kFewest = 8;
  constexpr std::uint64_t kOneOf = 10;
  constexpr double kFar = 8;  // outliers are this many ranges of the others away
  std::vector<Bucket> buckets;
  std::uint64_t elements = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.count > 0) buckets.push_back(bucket);
    elements += bucket.count;
  }
  if (elements < kFewest) return std::nullopt;
  const std::uint64_t others = elements - std::max<std::uint64_t>(1, elements / kOneOf);
  // The narrowest range that has so many elements.
  double low = buckets.front().low, high = buckets.back().high;
  std::uint64_t count = 0;
  for (std::size_t first = 0, end = 0; first < buckets.size(); count -= buckets[first++].count) {
    while (end < buckets.size() && count < others) count += buckets[end++].count;
    if (count < others) break;
    if (buckets[end - 1].high - buckets[first].low > high - low) continue;
    low = buckets[first].low;
    high = buckets[end - 1].high;
  }
  const double range = high - low;
  if (range == 0) return std::nullopt;  // the others would be one bar with any bins
  const auto is_near = [&](const Bucket& bucket) {
    return bucket.low >= low - range && bucket.high <= high + range;
  };
  const double least = std::find_if(buckets.begin(), buckets.end(), is_near)->low;
  const double greatest = std::find_if(buckets.rbegin(), buckets.rend(), is_near)->high;
  if (buckets.back().high / kFar - buckets.front().low / kFar <= greatest - least)
    return std::nullopt;
  return std::pair(least, greatest);
}

Bins::Bins(const ElementSummary& summary, bool whole_numbers, std::size_t most) {
  if (!summary.has_finite() || most == 0) return;
  low_ = summary.low;
  high_ = summary.high;
  size_ = most;
  if (whole_numbers && high_ - low_ < static_cast<double>(most)) {
    size_ = static_cast<std::size_t>(high_ - low_) + 1;
    low_ -= 0.5;
    high_ += 0.5;
    one_number_each_ = true;
  } else if (low_ == high_) {
    constexpr double kGreatest = std::numeric_limits<double>::max();
    const double half = low_ == 0 ? 0.5 : std::abs(low_) / 2;
    low_ = std::max(low_ - half, -kGreatest);
    high_ = std::min(high_ + half, kGreatest);
  }
}

double Bins::edge(std::size_t i) const noexcept {
  if (i >= size_) return high_;
  if (one_number_each_) return low_ + static_cast<double>(i);
  const double share = static_cast<double>(i) / static_cast<double>(size_);
  return low_ * (1 - share) + high_ * share;
}

std::vector<double> Bins::edges() const {
  std::vector<double> edges;
  for (std::size_t i = 0; size_ > 0 && i <= size_; ++i) edges.push_back(edge(i));
  return edges;
}

std::size_t Bins::index_of(double number) const noexcept {
  const double share = std::clamp(share_between(low_, high_, number), 0.0, 1.0);
  return std::min(size_ - 1, static_cast<std::size_t>(share * static_cast<double>(size_)));
}

void HistogramRow::count(const TensorValue& value, const Bins& bins) {
  counts.assign(bins.size(), 0);
  below = above = 0;
  if (bins.size() == 0) return;
  for_each_element(value, [&](double number) {
    if (!std::isfinite(number)) return;
    if (bins.is_below(number)) {
      ++below;
    } else if (bins.is_above(number)) {
      ++above;
    } else {
      ++counts[bins.index_of(number)];
    }
  });
}

std::size_t density_columns(const std::vector<HistogramRow>& rows, std::size_t width) {
  constexpr std::size_t kFewest = 8;
  const std::size_t taken = table_of_numbers(rows, {}).width();
  return taken + kFewest < width ? width - taken : kFewest;
}

void print_densities(Printer out, const std::vector<HistogramRow>& rows, const Bins& bins,
                     std::size_t width) {
  const std::size_t columns = density_columns(rows, width);
  const std::size_t cells_each =
      std::max<std::size_t>(1, columns / std::max<std::size_t>(1, bins.size()));
  std::vector<std::string> drawn;
  for (const HistogramRow& row : rows) drawn.push_back(density(row.counts, cells_each));
  table_of_numbers(rows, drawn).print(out);
  if (bins.size() == 0) {
    out << "no element is finite\n";
    return;
  }
  // The scale is below the drawing; labels without room there begin before it.
  const std::size_t margin = table_of_numbers(rows, {}).width();
  const std::size_t drawn_columns = std::max<std::size_t>(2, bins.size() * cells_each);
  out << std::string(margin, ' ') << "└";
  for (std::size_t i = 2; i < drawn_columns; ++i) out << "─";
  const auto labels = scale_labels({bins.edge(0), bins.edge(bins.size())});
  const std::size_t least = labels[0].size() + 1 + labels[1].size();
  const std::size_t between = 1 + drawn_columns - std::min(least, drawn_columns);
  const std::size_t end = margin + std::max(least, drawn_columns);
  out << "┘\n"
      << std::string(margin - std::min(margin, end - std::min(end, width)), ' ') << labels[0]
      << std::string(between, ' ') << labels[1] << '\n';
}

void print_bars(Printer out, const HistogramRow& row, const Bins& bins, std::size_t width) {
  using enum Table::Align;
  const bool whole = bins.one_number_each();
  std::vector<std::string> header = {"FROM", "TO", "ELEMENTS", ""};
  if (whole) header = {"VALUE", "ELEMENTS", ""};
  std::vector<double> numbers = bins.edges();
  if (row.below > 0) numbers.insert(numbers.begin(), row.summary.low);
  if (row.above > 0) numbers.push_back(row.summary.high);
  const std::vector<std::string> edges = scale_labels(numbers);
  std::vector<std::uint64_t> counts = row.counts;
  if (row.below > 0) counts.insert(counts.begin(), row.below);
  if (row.above > 0) counts.push_back(row.above);
  const auto value_text = [&](std::size_t i) {
    if (row.below > 0 && i-- == 0) return "< " + whole_number_text(bins.edge(0) + 0.5);
    return i < bins.size() ? whole_number_text(bins.edge(i) + 0.5)
                           : "> " + whole_number_text(bins.edge(i) - 0.5);
  };
  const auto table_with = [&](std::size_t bar_columns) {
    const std::uint64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    Table table(header, std::vector<Table::Align>(header.size() - 1, Right));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double share =
          most == 0 ? 0 : static_cast<double>(counts[i]) / static_cast<double>(most);
      const std::string count = std::to_string(counts[i]);
      const std::string bar = bar_text(share, bar_columns);
      if (whole)
        table.add({value_text(i), count, bar});
      else
        table.add({edges[i], edges[i + 1], count, bar});
    }
    return table;
  };
  const std::size_t taken = table_with(0).width();
  constexpr std::size_t kFewest = 8;
  if (bins.size() > 0)
    table_with(taken + kFewest < width ? width - taken : kFewest).print(out);
  else
    out << "no element is finite\n";
  if (row.summary.nan > 0) out << "NaN " << row.summary.nan << '\n';
  if (row.summary.pos_inf > 0) out << "inf " << row.summary.pos_inf << '\n';
  if (row.summary.neg_inf > 0) out << "-inf " << row.summary.neg_inf << '\n';
}

}  // namespace cupel::command_detail
