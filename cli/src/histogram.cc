#include "histogram.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>

#include "bar_text.h"
#include "cupel/core/element_type.h"
#include "cupel/rules/number_text.h"
#include "plot.h"
#include "table.h"

namespace cupel {
namespace {

// Calls `f` with every element as a double.
template <class F>
void for_each_element(const TensorValue& value, F&& f) {
  if (value.dtype() == DType::Utf8) return;
  with_element_type(value.dtype(), [&]<class T>(T) {
    for (const T element : value.as<T>()) f(as_double(element));
  });
}

// All digits of what a double holds exactly.
std::string whole_number_text(double number) {
  constexpr double kExact = 9007199254740992;
  return std::abs(number) < kExact ? std::to_string(std::llround(number)) : shortest_text(number);
}

std::string label_of(double number) { return scale_labels({number}).front(); }

// Blocks as high as the counts, by the greatest of them; what is there is seen.
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

// The numbers of the lines, each with an empty cell behind them for what is drawn.
Table table_of_numbers(const std::vector<HistogramRow>& rows,
                       const std::vector<std::string>& drawn) {
  ElementSummary all;
  for (const HistogramRow& row : rows) all.add(row.summary);
  std::vector<std::string> header = {"STEP", "MIN", "MAX"};
  if (all.nan > 0) header.emplace_back("NaN");
  if (all.pos_inf > 0) header.emplace_back("inf");
  if (all.neg_inf > 0) header.emplace_back("-inf");
  std::vector<Table::Align> alignment(header.size(), Table::Align::Right);
  header.emplace_back();
  Table table(std::move(header), std::move(alignment));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ElementSummary& summary = rows[i].summary;
    const bool finite = summary.has_finite();
    std::vector<std::string> cells = {std::to_string(rows[i].step),
                                      finite ? label_of(summary.low) : "-",
                                      finite ? label_of(summary.high) : "-"};
    if (all.nan > 0) cells.push_back(std::to_string(summary.nan));
    if (all.pos_inf > 0) cells.push_back(std::to_string(summary.pos_inf));
    if (all.neg_inf > 0) cells.push_back(std::to_string(summary.neg_inf));
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

std::vector<std::uint64_t> bin_counts(const TensorValue& value, const Bins& bins) {
  std::vector<std::uint64_t> counts(bins.size());
  if (bins.size() > 0)
    for_each_element(value, [&](double number) {
      if (std::isfinite(number)) ++counts[bins.index_of(number)];
    });
  return counts;
}

std::size_t density_columns(const std::vector<HistogramRow>& rows, std::size_t width) {
  constexpr std::size_t kFewest = 8;
  const std::size_t taken = table_of_numbers(rows, {}).width();
  return taken + kFewest < width ? width - taken : kFewest;
}

void print_densities(std::ostream& out, const std::vector<HistogramRow>& rows, const Bins& bins,
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
  // The scale stands under what is drawn; what of its ends finds no room there begins before it.
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

void print_bars(std::ostream& out, const HistogramRow& row, const Bins& bins, std::size_t width) {
  using enum Table::Align;
  std::vector<std::string> header = {"FROM", "TO", "ELEMENTS", ""};
  if (bins.one_number_each()) header.erase(header.begin() + 1);
  if (bins.one_number_each()) header.front() = "VALUE";
  const std::vector<std::string> edges = scale_labels(bins.edges());
  const auto table_with = [&](std::size_t bar_columns) {
    const std::uint64_t most =
        row.counts.empty() ? 0 : *std::max_element(row.counts.begin(), row.counts.end());
    Table table(header, std::vector<Table::Align>(header.size() - 1, Right));
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const double share =
          most == 0 ? 0 : static_cast<double>(row.counts[i]) / static_cast<double>(most);
      std::vector<std::string> cells = {edges[i], edges[i + 1], std::to_string(row.counts[i]),
                                        bar_text(share, bar_columns)};
      if (bins.one_number_each()) {
        cells.erase(cells.begin() + 1);
        cells.front() = whole_number_text(bins.edge(i) + 0.5);
      }
      table.add(std::move(cells));
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

}  // namespace cupel
