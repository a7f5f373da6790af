// Prints the saved steps of a tensor: as a table that fits a terminal, or as JSON lines. A line is
// printed as a whole or not at all: damage ends the command after the lines of the steps before it.
// One thread.

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "progress.h"
#include "show.h"
#include "table.h"
#include "terminal.h"
#include "text_width.h"
#include "value_text.h"

namespace cupel::command_detail {
namespace {

using Align = Table::Align;

constexpr std::size_t kGap = 2;
constexpr const char* kAbsent = "-";

struct Column {
  std::string name;
  Align align = Align::Left;
  std::vector<std::string> cells;

  std::size_t width() const {
    std::size_t width = text_width(name);
    for (const std::string& cell : cells) width = std::max(width, text_width(printable(cell)));
    return width;
  }
  bool is_the_same_everywhere() const {
    return !cells.empty() &&
           std::all_of(cells.begin(), cells.end(),
                       [this](const std::string& cell) { return cell == cells.front(); });
  }
};

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width() + kGap;
  return columns.empty() ? 0 : width - kGap;
}

// The most useful reductions come first.
constexpr std::array<std::string_view, Reduction::kCount> kByUse = {
    "abs_mean", "mean",         "std",     "max",    "min",     "abs_max", "l2",
    "median",   "abs_median",   "abs_std", "l1",     "abs_min", "sum",     "variance",
    "abs_sum",  "abs_variance", "abs_l2",  "abs_l1", "prod",    "abs_prod"};

// The table of a tensor's steps, column by column.
class StepsTable {
 public:
  explicit StepsTable(const ShownTensor& shown) : shown_(shown) {}

  // Adds the line of a step. Adds nothing where something cannot be read, and throws.
  void add(const TensorRecord& record) {
    std::string value = shown_.reductions.empty() ? value_cell(record) : "";
    ReductionValues reductions = record.reductions;
    if (!shown_.reductions.empty()) reductions = {};
    for (const Reduction reduction : shown_.reductions)
      if (const auto number = shown_.reduction(record, reduction))
        reductions.put(reduction, *number);
    const std::array<std::string, kWhere> where = {
        std::to_string(record.step),          std::string(to_string(record.mode)),
        std::to_string(record.mode_step),     std::string(record.worker),
        std::string(to_string(record.dtype)), shape_text(record)};
    for (std::size_t i = 0; i < kWhere; ++i) where_[i].cells.push_back(where[i]);
    reductions_.push_back(reductions);
    counts_.push_back(record.counts.value_or(ValueCounts{}));
    values_.push_back(std::move(value));
    has_values_ = has_values_ || record.has_value;
  }

  // Prints the columns that fit. Returns the names of the reductions that do not.
  std::vector<std::string> print(Printer out) const {
    std::vector<Column> left(where_.begin(), where_.end());
    std::vector<Column> right = numbers();
    const std::size_t width = columns_of(out, kDefaultWidth);
    const auto total = [&] { return width_of(left) + kGap + width_of(right); };
    // Values that are the same at every step are printed once.
    std::string common;
    if (total() > width) {
      const bool one_numbering = left[kModeStep].cells == left[kStep].cells;
      std::vector<Column> kept;
      for (std::size_t i = 0; i < left.size(); ++i) {
        const bool folded =
            i == kModeStep ? one_numbering : i != kStep && left[i].is_the_same_everywhere();
        if (!folded) {
          kept.push_back(std::move(left[i]));
        } else if (i != kModeStep) {
          common += (common.empty() ? "" : "  ") + printable(left[i].cells.front());
        }
      }
      left = std::move(kept);
    }
    std::vector<std::string> left_out;
    for (std::size_t use = kByUse.size(); use-- > 0 && shown_.reductions.empty();) {
      if (total() <= width || right.size() == 1) break;
      const auto least = std::find_if(right.begin(), right.end(), [use](const Column& column) {
        return column.name == kByUse[use];
      });
      if (least == right.end()) continue;
      left_out.push_back(least->name);
      right.erase(least);
    }
    if (!common.empty()) out << common << '\n';
    print_columns(left, right, out);
    return left_out;
  }

 private:
  static constexpr std::size_t kWhere = 6;
  static constexpr std::size_t kStep = 0;
  static constexpr std::size_t kModeStep = 2;

  bool has(Reduction reduction) const {
    return std::any_of(reductions_.begin(), reductions_.end(),
                       [reduction](const auto& values) { return values.set.contains(reduction); });
  }

  // Returns the value of a scalar, or which data was saved.
  std::string value_cell(const TensorRecord& record) const {
    if (record.has_value && record.elements == 1) return element_json(shown_.value(record), 0);
    return record.has_value ? "saved" : kAbsent;
  }

  void add_counts(const char* name, std::int64_t ValueCounts::*count,
                  std::vector<Column>& columns) const {
    Column column{name, Align::Right, {}};
    bool any = false;
    for (const ValueCounts& counts : counts_) {
      column.cells.push_back(std::to_string(counts.*count));
      any = any || counts.*count > 0;
    }
    if (any) columns.push_back(std::move(column));
  }

  std::vector<Column> numbers() const {
    std::vector<Column> columns;
    std::vector<Reduction> reductions = shown_.reductions;
    for (std::size_t i = 0; i < Reduction::kCount && shown_.reductions.empty(); ++i)
      if (has(Reduction::at(i))) reductions.push_back(Reduction::at(i));
    for (const Reduction reduction : reductions) {
      // There is room for all digits of a single column that was asked for.
      const bool in_full = shown_.reductions.size() == 1;
      Column column{std::string(to_string(reduction)), in_full ? Align::Left : Align::Right, {}};
      for (const ReductionValues& values : reductions_) {
        const auto number = values.get(reduction);
        column.cells.push_back(!number   ? kAbsent
                               : in_full ? shortest_text(*number)
                                         : short_text(*number));
      }
      columns.push_back(std::move(column));
    }
    if (!shown_.reductions.empty()) return columns;
    add_counts("NaN", &ValueCounts::nan, columns);
    add_counts("inf", &ValueCounts::pos_inf, columns);
    add_counts("-inf", &ValueCounts::neg_inf, columns);
    if (has_values_ || reductions.empty()) columns.push_back({"VALUE", Align::Left, values_});
    return columns;
  }

  static void print_columns(const std::vector<Column>& left, const std::vector<Column>& right,
                            Printer out) {
    std::vector<std::string> header;
    std::vector<Align> alignment;
    for (const auto* side : {&left, &right}) {
      for (const Column& column : *side) {
        header.push_back(column.name);
        alignment.push_back(column.align);
      }
    }
    Table table(std::move(header), std::move(alignment));
    for (std::size_t row = 0; row < left.front().cells.size(); ++row) {
      std::vector<std::string> cells;
      for (const auto* side : {&left, &right})
        for (const Column& column : *side) cells.push_back(column.cells[row]);
      table.add(std::move(cells));
    }
    table.print(out);
  }

  const ShownTensor& shown_;
  std::array<Column, kWhere> where_ = {{{"STEP", Align::Right, {}},
                                        {"MODE", Align::Left, {}},
                                        {"MODE STEP", Align::Right, {}},
                                        {"WORKER", Align::Left, {}},
                                        {"DTYPE", Align::Left, {}},
                                        {"SHAPE", Align::Left, {}}}};
  std::vector<ReductionValues> reductions_;
  std::vector<ValueCounts> counts_;
  std::vector<std::string> values_;
  bool has_values_ = false;
};

}  // namespace

void begin_json_line(const ShownTensor& shown, const TensorRecord& record, Printer out) {
  out << "{\"tensor\":" << json_string(shown.tensor.name()) << ",\"step\":" << record.step
      << ",\"mode\":\"" << to_string(record.mode) << "\",\"mode_step\":" << record.mode_step
      << ",\"worker\":" << json_string(record.worker) << ",\"dtype\":\"" << to_string(record.dtype)
      << "\",\"shape\":";
  if (!record.shape) {
    out << "null";
    return;
  }
  out << '[';
  for (std::size_t axis = 0; axis < record.shape->rank(); ++axis)
    out << (axis == 0 ? "" : ",") << (*record.shape)[axis];
  out << ']';
}

void print_json_line(const ShownTensor& shown, const TensorRecord& record, Printer lines) {
  std::ostringstream line;
  const Printer out(line);
  begin_json_line(shown, record, out);
  if (shown.reductions.empty() && record.has_value) {
    out << ",\"value\":";
    print_json(out, shown.value(record));
  } else {
    out << ",\"reductions\":{";
    bool first = true;
    const auto put = [&](Reduction reduction, double number) {
      out << (first ? "\"" : ",\"") << to_string(reduction) << "\":" << json_number(number);
      first = false;
    };
    for (const Reduction reduction : shown.reductions)
      put(reduction, shown.tensor.reduction_value(record.step, to_string(reduction),
                                                  {.worker = std::string(record.worker)}));
    if (shown.reductions.empty())
      record.reductions.set.for_each([&](Reduction reduction) {
        put(reduction, record.reductions.values[reduction.index()]);
      });
    out << '}';
  }
  out << '}';
  lines << line.str() << '\n';
}

void show_steps(const ShownTensor& shown, const CommandContext& context) {
  if (shown.options.json) {
    for (const std::int64_t step : shown.steps)
      print_json_line(shown, shown.record(step), context.out);
    return;
  }
  StepsTable table(shown);
  const auto print = [&] {
    const std::vector<std::string> left_out = table.print(context.out);
    if (left_out.empty()) return;
    context.message() << "no room for";
    for (std::size_t i = left_out.size(); i-- > 0;)
      context.err << ' ' << left_out[i] << (i == 0 ? "" : ",");
    context.err << "; --reduction chooses, --width gives more room\n";
  };
  try {
    Progress progress("reading values");
    for (std::size_t i = 0; i < shown.steps.size(); ++i) {
      table.add(shown.record(shown.steps[i]));
      progress(i + 1, shown.steps.size());
    }
  } catch (const Error&) {  // the steps before the damage are printed
    print();
    throw;
  }
  print();
}

}  // namespace cupel::command_detail
