// Prints the distribution of the raw values of a tensor, step by step, over bins that all steps
// share. Values are read twice, for the edges and for the counts, so that memory holds one at a
// time. Steps without raw values are left out and reported; damage is an error. One thread.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/core/reduction.h"
#include "histogram.h"
#include "progress.h"
#include "show.h"
#include "terminal.h"
#include "value_text.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kMostRows = 20;
constexpr std::size_t kMostBins = 60;
constexpr std::size_t kBars = 20;
constexpr std::size_t kBarsOfWholeNumbers = 40;

bool is_whole(DType dtype) { return !is_floating(dtype); }

// Returns how unusual a step is by its row of the index: the number of elements that are not
// finite, and the largest magnitude, which is 0 without the reductions for it.
std::pair<std::int64_t, double> magnitude_of(const TensorRecord& record) {
  const ValueCounts counts = record.counts.value_or(ValueCounts{});
  double largest = 0;
  for (const std::string_view name : {"abs_max", "min", "max"})
    largest =
        std::max(largest, std::abs(record.reductions.get(require_reduction(name)).value_or(0)));
  return {counts.nan + counts.pos_inf + counts.neg_inf, largest};
}

// Returns at most kMostRows records, evenly spaced, with the first and the last. An unusual step
// replaces one beside it.
std::vector<TensorRecord> thinned(const std::vector<TensorRecord>& records) {
  if (records.size() <= kMostRows) return records;
  constexpr double kOut = 2;  // an unusual magnitude is this many times as large
  const auto even = [&](std::size_t i) { return i * (records.size() - 1) / (kMostRows - 1); };
  std::vector<TensorRecord> kept = {records.front()};
  for (std::size_t i = 1; i + 1 < kMostRows; ++i) {
    std::size_t chosen = even(i);
    auto most = magnitude_of(records[chosen]);
    most.second *= kOut;
    for (std::size_t at = (even(i - 1) + even(i)) / 2 + 1; at <= (even(i) + even(i + 1)) / 2;
         ++at) {
      if (magnitude_of(records[at]) <= most) continue;
      most = magnitude_of(records[at]);
      chosen = at;
    }
    kept.push_back(records[chosen]);
  }
  kept.push_back(records.back());
  return kept;
}

std::uint64_t bytes_of(const TensorRecord& record) {
  return static_cast<std::uint64_t>(record.elements) * element_size(record.dtype);
}

class HistogramReader {
 public:
  HistogramReader(const ShownTensor& shown, const std::vector<TensorRecord>& records)
      : shown_(shown), records_(records), progress_("reading values", Progress::Unit::Bytes) {
    for (const TensorRecord& record : records) total_ += 2 * bytes_of(record);
  }

  std::vector<HistogramRow> summaries(ElementSpread& spread) {
    std::vector<HistogramRow> rows;
    for (const TensorRecord& record : records_) {
      const TensorValue value = read(record);
      rows.push_back({shown_.step_of(record), summary_of(value)});
      spread.add(value);
    }
    return rows;
  }
  void count(std::vector<HistogramRow>& rows, const Bins& bins) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].count(read(records_[i]), bins);
    progress_.wipe();
  }

 private:
  TensorValue read(const TensorRecord& record) {
    TensorValue value = shown_.value(record);
    done_ += bytes_of(record);
    progress_(done_, total_);
    return value;
  }

  const ShownTensor& shown_;
  const std::vector<TensorRecord>& records_;
  Progress progress_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

template <class Numbers, class Text>
void print_list(Printer out, const char* key, const Numbers& numbers, Text&& text) {
  out << ",\"" << key << "\":[";
  bool first = true;
  for (const auto number : numbers) {
    out << (first ? "" : ",") << text(number);
    first = false;
  }
  out << ']';
}

void print_json(const ShownTensor& shown, const TensorRecord& record, const HistogramRow& row,
                const Bins& bins, Printer out) {
  begin_json_line(shown, record, out);
  print_list(out, "edges", bins.edges(), json_number);
  print_list(out, "counts", row.counts, [](std::uint64_t count) { return count; });
  out << ",\"nan\":" << row.summary.nan << ",\"pos_inf\":" << row.summary.pos_inf
      << ",\"neg_inf\":" << row.summary.neg_inf << "}\n";
}

}  // namespace

void show_histogram(const ShownTensor& shown, const CommandContext& context) {
  std::vector<TensorRecord> records;
  std::vector<std::int64_t> without_value;
  for (const std::int64_t step : shown.steps) {
    const TensorRecord record = shown.record(step);
    if (record.has_value && record.dtype == DType::Utf8)
      throw UsageError("text has no histogram: " + shown.tensor.name() + " is utf8 at step " +
                       std::to_string(step));
    if (record.has_value) {
      records.push_back(record);
    } else {
      without_value.push_back(step);
    }
  }
  if (records.empty() && !without_value.empty())
    throw UsageError("a histogram takes raw values, and none was saved of " + shown.tensor.name() +
                     " at " + steps_text(without_value));
  if (!without_value.empty())
    context.message() << "left out, saved without raw values: " << steps_text(without_value)
                      << '\n';

  const bool json = shown.options.json;
  const std::vector<TensorRecord> chosen = json ? records : thinned(records);
  HistogramReader reader(shown, chosen);
  ElementSpread spread;
  std::vector<HistogramRow> rows = reader.summaries(spread);
  ElementSummary all;
  for (const HistogramRow& row : rows) all.add(row.summary);
  if (const auto range = spread.range_without_outliers(); range && !json) {
    std::tie(all.low, all.high) = *range;
    // The counts are not known yet; the columns must have room for any.
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].below = rows[i].above = static_cast<std::uint64_t>(chosen[i].elements);
  }
  const bool whole = std::all_of(chosen.begin(), chosen.end(),
                                 [](const TensorRecord& record) { return is_whole(record.dtype); });
  const std::size_t width = columns_of(context.out, kDefaultWidth);
  std::size_t most = kMostBins;
  if (!json && rows.size() == 1) most = kBars;
  if (!json && rows.size() == 1 && whole && all.high - all.low < kBarsOfWholeNumbers)
    most = kBarsOfWholeNumbers;
  if (!json && rows.size() > 1) most = std::min(most, density_columns(rows, width));
  const Bins bins(all, whole, most);
  reader.count(rows, bins);

  if (json) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      print_json(shown, chosen[i], rows[i], bins, context.out);
    return;
  }
  context.out << printable(shown.tensor.name()) << "  ";
  if (shown.mode != Mode::Global) context.out << to_string(shown.mode) << "  ";
  if (rows.size() == 1) {
    context.out << "step " << rows.front().step << "  " << to_string(chosen.front().dtype) << ' '
                << shape_text(chosen.front()) << '\n';
    print_bars(context.out, rows.front(), bins, width);
    return;
  }
  context.out << rows.size();
  if (rows.size() < records.size()) context.out << " of " << records.size();
  context.out << " steps  " << to_string(chosen.back().dtype) << ' ' << shape_text(chosen.back())
              << '\n';
  print_densities(context.out, rows, bins, width);
}

}  // namespace cupel::command_detail
