// Draws numbers of a tensor over its steps: reductions, or the value of a scalar. Saved reductions
// come from the index, others from the raw values. A step without the number is a gap, which is
// reported; damage is an error. One thread.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "plot.h"
#include "progress.h"
#include "show.h"
#include "terminal.h"
#include "wrapped_lines.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kRowsOfOne = 12;
constexpr std::size_t kRowsOfMany = 6;
constexpr std::size_t kMostByDefault = 3;

// The reductions that are plotted by default: the first ones that were saved.
constexpr std::array<std::string_view, 9> kFirstChoices = {
    "abs_mean", "mean", "std", "max", "min", "abs_max", "l2", "median", "abs_median"};

// A scalar is plotted by its value.
bool is_scalar(const TensorRecord& record) {
  return record.has_value && record.elements == 1 && record.dtype != DType::Utf8;
}

struct Series {
  std::string name;
  std::vector<PlotPoint> points;
};

class SeriesReader {
 public:
  explicit SeriesReader(const ShownTensor& shown) : shown_(shown) {}

  std::vector<Series> read() const {
    bool all_scalars = true;
    ReductionSet saved;
    for (const std::int64_t step : shown_.steps) {
      const TensorRecord record = shown_.record(step);
      all_scalars = all_scalars && is_scalar(record);
      saved |= record.reductions.set;
    }
    Progress progress("reading values");
    if (shown_.reductions.empty() && all_scalars) return {values(progress)};
    const std::vector<Reduction> reductions =
        shown_.reductions.empty() ? default_choice(saved) : shown_.reductions;
    std::vector<Series> all;
    std::size_t done = 0;
    for (const Reduction reduction : reductions) {
      Series& series = all.emplace_back(Series{std::string(to_string(reduction)), {}});
      for (const std::int64_t step : shown_.steps) {
        const TensorRecord record = shown_.record(step);
        if (const auto number = shown_.reduction(record, reduction))
          series.points.push_back({step, *number});
        progress(++done, shown_.steps.size() * reductions.size());
      }
    }
    return all;
  }

 private:
  Series values(Progress& progress) const {
    Series series{"value", {}};
    for (const std::int64_t step : shown_.steps) {
      series.points.push_back({step, shown_.value(shown_.record(step)).at(0)});
      progress(series.points.size(), shown_.steps.size());
    }
    return series;
  }

  // Without saved reductions, the one that rules compute from raw values.
  static std::vector<Reduction> default_choice(ReductionSet saved) {
    std::vector<Reduction> chosen;
    for (const std::string_view name : kFirstChoices)
      if (saved.contains(require_reduction(name)) && chosen.size() < kMostByDefault)
        chosen.push_back(require_reduction(name));
    for (std::size_t i = 0; i < Reduction::kCount && chosen.empty(); ++i)
      if (saved.contains(Reduction::at(i))) chosen.push_back(Reduction::at(i));
    if (chosen.empty()) chosen.push_back(require_reduction("abs_mean"));
    return chosen;
  }

  const ShownTensor& shown_;
};

// Returns "least 0.25 at step 40, greatest 3 at step 0"; empty without two finite numbers.
std::string extremes_text(const std::vector<PlotPoint>& points) {
  const PlotPoint* least = nullptr;
  const PlotPoint* greatest = nullptr;
  for (const PlotPoint& point : points) {
    if (!std::isfinite(point.value)) continue;
    if (least == nullptr || point.value < least->value) least = &point;
    if (greatest == nullptr || point.value > greatest->value) greatest = &point;
  }
  if (least == greatest) return {};
  const auto text = [](const PlotPoint& point) {
    return short_text(point.value) + " at step " + std::to_string(point.step);
  };
  return "least " + text(*least) + ", greatest " + text(*greatest);
}

}  // namespace

void show_plot(const ShownTensor& shown, const CommandContext& context) {
  const std::vector<Series> all = SeriesReader(shown).read();
  PlotOptions options;
  options.width = std::max(kLeastPlotWidth, columns_of(context.out, kDefaultWidth));
  options.rows = all.size() == 1 ? kRowsOfOne : kRowsOfMany;
  options.log = shown.options.log;
  bool is_first = true;
  for (const Series& series : all) {
    if (series.points.empty()) {
      context.message() << "there is no " << series.name
                        << " to plot: neither it nor the value was saved at any of these steps\n";
      continue;
    }
    if (!std::exchange(is_first, false)) context.out << '\n';
    std::string title = printable(shown.tensor.name()) + "  " + series.name;
    if (shown.mode != Mode::Global) title.append("  ").append(to_string(shown.mode));
    if (options.log) title += "  logarithmic";
    context.out << Composed{wrapped(title, options.width)};
    for (const std::string& line : plot(series.points, options)) context.out << line << '\n';
    if (const std::string extremes = extremes_text(series.points); !extremes.empty())
      context.out << Composed{wrapped(extremes, options.width)};
    const std::size_t absent = shown.steps.size() - series.points.size();
    if (absent > 0)
      context.message() << series.name << " is not there at " << absent << " of "
                        << shown.steps.size() << " steps\n";
  }
}

}  // namespace cupel::command_detail
