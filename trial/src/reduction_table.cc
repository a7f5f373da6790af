// Making a table of the index.
//
// One pass over the steps finds the plan of each and counts the rows; a second pass copies ranges
// of columns. Nothing is searched per row: most steps repeat the plan of the step before, and with
// it the names and, as one comparison shows, the forms of its rows. The calling thread does all of
// it, from one snapshot. Running out of memory is std::bad_alloc, and leaves nothing behind.

#include "cupel/trial/reduction_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"
#include "row_plan.h"
#include "snapshot_view.h"
#include "step_merge.h"
#include "trial_view.h"

namespace cupel {

using trial_detail::FormTable;
using trial_detail::NameTable;
using trial_detail::RowBlock;
using trial_detail::RowPlan;
using trial_detail::SnapshotView;
using trial_detail::StepMerge;
using trial_detail::StepPart;

namespace {

static_assert(ReductionTable::kCounts == RowBlock::kCounts);

template <class T>
void copy_range(const T* from, T* to, const RowPlan::Range& range) noexcept {
  from += range.from;
  to += range.to;
  if (range.stride == 1) {
    std::memcpy(to, from, range.length * sizeof(T));
    return;
  }
  for (std::size_t i = 0; i < range.length; ++i) to[i * range.stride] = from[i];
}

template <class T>
void fill_range(T value, T* to, const RowPlan::Range& range) noexcept {
  to += range.to;
  for (std::size_t i = 0; i < range.length; ++i) to[i * range.stride] = value;
}

/// The steps of a table, and the parts of all of them in one list.
struct PlannedSteps {
  struct Step {
    const RowPlan* plan;
    std::size_t first_part;
  };
  std::vector<Step> steps;
  std::vector<StepPart> parts;
  std::map<const RowPlan*, std::shared_ptr<const RowPlan>> plans;
  std::size_t rows = 0;
  std::uint32_t reductions = 0;  // bits: columns that blocks have
  std::uint32_t counts = 0;

  void add(std::span<const StepPart> step, std::shared_ptr<const RowPlan> plan) {
    if (plan->rows.empty()) return;
    for (const StepPart& part : step) {
      if (parts.empty() || parts.back().rows->block != part.rows->block)
        add_columns(*part.rows->block);
      parts.push_back(part);
    }
    steps.push_back({plan.get(), parts.size() - step.size()});
    rows += plan->rows.size();
    if (steps.size() == 1 || steps[steps.size() - 2].plan != plan.get())
      plans.emplace(plan.get(), std::move(plan));
  }

 private:
  void add_columns(const RowBlock& block) {
    for (std::size_t r = 0; r < Reduction::kCount; ++r)
      if (block.reduction_column(r) != nullptr) reductions |= 1U << r;
    for (std::size_t c = 0; c < RowBlock::kCountColumns; ++c)
      if (block.count_column(c) != nullptr) counts |= 1U << c;
  }
};

class TableMaker {
 public:
  TableMaker(const SnapshotView& view, const PlannedSteps& planned)
      : data_(*view.snapshot().data), planned_(planned) {
    for (const Snapshot::Worker& worker : view.workers()) table_.workers.emplace_back(worker.name);
    list_names();
    allocate();
  }

  ReductionTable make() {
    for (std::size_t s = 0; s < planned_.steps.size(); ++s) {
      const PlannedSteps::Step& step = planned_.steps[s];
      const StepPart* parts = planned_.parts.data() + step.first_part;
      const bool repeats = s > 0 && planned_.steps[s - 1].plan == step.plan;
      copy_step(*step.plan, parts,
                repeats ? planned_.parts.data() + planned_.steps[s - 1].first_part : nullptr);
      at_ += step.plan->rows.size();
    }
    std::erase_if(table_.reductions, [&](const ReductionTable::Values& column) {
      return (seen_ >> column.reduction.index() & 1U) == 0;
    });
    return std::move(table_);
  }

 private:
  /// Lists the names of all planned rows in order, and numbers them.
  void list_names() {
    std::vector<std::uint32_t> ids;
    for (const auto& [plan, held] : planned_.plans)
      for (const RowPlan::Row& row : plan->rows) {
        if (row.id >= number_of_.size()) number_of_.resize(row.id + 1, kNone);
        if (number_of_[row.id] != kNone) continue;
        number_of_[row.id] = 0;
        ids.push_back(row.id);
      }
    const NameTable& names = data_.names;
    std::sort(ids.begin(), ids.end(),
              [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
    for (const std::uint32_t id : ids) {
      number_of_[id] = static_cast<std::uint32_t>(table_.tensors.size());
      table_.tensors.push_back(names[id]);
    }
  }

  void allocate() {
    const std::size_t rows = planned_.rows;
    table_.step = TableColumn<std::int64_t>(rows);
    table_.mode_step = TableColumn<std::int64_t>(rows);
    table_.mode = TableColumn<Mode>(rows);
    table_.tensor = TableColumn<std::uint32_t>(rows);
    table_.worker = TableColumn<std::uint32_t>(rows);
    table_.elements = TableColumn<std::int64_t>(rows);
    table_.saved = TableColumn<std::uint32_t>(rows);
    for (TableColumn<std::int64_t>* column : counts_) *column = TableColumn<std::int64_t>(rows);
    for (std::size_t r = 0; r < Reduction::kCount; ++r)
      if ((planned_.reductions >> r & 1U) != 0)
        table_.reductions.push_back({Reduction::at(r), TableColumn<double>(rows)});
  }

  /// `before` has the parts of the step before, if that has the same plan; else it is null.
  void copy_step(const RowPlan& plan, const StepPart* parts, const StepPart* before) {
    const std::size_t rows = plan.rows.size();
    // All parts have the same global step; modes and mode steps may differ.
    std::fill_n(table_.step.data() + at_, rows, parts[0].rows->step);
    for (const RowPlan::Range& range : plan.ranges) {
      const StepPart& part = parts[range.part];
      fill_range(part.rows->mode_step, table_.mode_step.data() + at_, range);
      fill_range(part.rows->mode, table_.mode.data() + at_, range);
      fill_range(part.worker, table_.worker.data() + at_, range);
      copy_values(range, *part.rows);
    }
    copy_names(plan, before != nullptr);
    copy_elements(plan, parts, before);
  }

  void copy_values(const RowPlan::Range& range, const trial_detail::StepRows& rows) {
    const RowBlock& block = *rows.block;
    const std::size_t first = rows.first_row;
    const std::uint32_t* flags = block.flags() + first + range.from;
    std::uint32_t* saved = table_.saved.data() + at_ + range.to;
    constexpr std::uint32_t kShown = RowBlock::kReductions | RowBlock::kCounts;
    std::uint32_t seen = 0;
    if (range.stride == 1) {
      for (std::size_t i = 0; i < range.length; ++i) {
        seen |= flags[i];
        saved[i] = flags[i] & kShown;
      }
    } else {
      for (std::size_t i = 0; i < range.length; ++i) {
        seen |= flags[i];
        saved[i * range.stride] = flags[i] & kShown;
      }
    }
    seen_ |= seen;
    for (ReductionTable::Values& column : table_.reductions) {
      const double* from = block.reduction_column(column.reduction.index());
      double* to = column.values.data() + at_;
      if (from != nullptr) {
        copy_range(from + first, to, range);
      } else {
        fill_range(std::numeric_limits<double>::quiet_NaN(), to, range);
      }
    }
    for (std::size_t c = 0; c < counts_.size(); ++c)
      if (const std::int64_t* from = block.count_column(c))
        copy_range(from + first, counts_[c]->data() + at_, range);
  }

  void copy_names(const RowPlan& plan, bool repeats) {
    std::uint32_t* to = table_.tensor.data() + at_;
    const std::size_t rows = plan.rows.size();
    if (repeats) {
      std::memcpy(to, to - rows, rows * sizeof *to);
      return;
    }
    for (std::size_t i = 0; i < rows; ++i) to[i] = number_of_[plan.rows[i].id];
  }

  void copy_elements(const RowPlan& plan, const StepPart* parts, const StepPart* before) {
    std::int64_t* to = table_.elements.data() + at_;
    const auto forms = [](const trial_detail::StepRows& rows, const RowPlan::Range& range) {
      return rows.block->forms() + rows.first_row + range.from;
    };
    bool same_forms = before != nullptr;
    for (std::size_t r = 0; same_forms && r < plan.ranges.size(); ++r) {
      const RowPlan::Range& range = plan.ranges[r];
      same_forms =
          std::memcmp(forms(*before[range.part].rows, range), forms(*parts[range.part].rows, range),
                      range.length * sizeof(std::uint32_t)) == 0;
    }
    if (same_forms) {
      std::memcpy(to, to - plan.rows.size(), plan.rows.size() * sizeof *to);
      return;
    }
    for (const RowPlan::Range& range : plan.ranges) {
      const std::uint32_t* form = forms(*parts[range.part].rows, range);
      for (std::size_t i = 0; i < range.length; ++i)
        to[range.to + i * range.stride] = data_.forms[form[i]].elements;
    }
  }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  const trial_detail::IndexData& data_;
  const PlannedSteps& planned_;
  ReductionTable table_;
  const std::array<TableColumn<std::int64_t>*, RowBlock::kCountColumns> counts_ = {
      &table_.nan, &table_.pos_inf, &table_.neg_inf, &table_.zero};
  std::vector<std::uint32_t> number_of_;  // by the id of a name
  std::size_t at_ = 0;                    // the row of the table
  std::uint32_t seen_ = 0;                // bits: flags that any row has
};

}  // namespace

ReductionTable Trial::reductions(const ReductionTableQuery& query) const {
  if (!query.name.empty() && !query.collection.empty())
    throw UsageError("reductions takes a name or a collection, not both");
  const SnapshotView view = view_->read();
  view.require_worker(query.worker);
  NameSelection selection(
      query.collection.empty() ? std::vector<std::string>() : std::vector{query.collection},
      query.name);
  trial_detail::SelectionState::of(selection).use(view.snapshot(), *view_->index);

  const bool global = query.mode == Mode::Global;
  const std::int64_t listed = view.listed(query.show_incomplete_steps);
  std::int64_t begin = 0, last = listed;
  if (global) {
    begin = query.steps.begin.value_or(0);
    if (query.steps.end && *query.steps.end <= listed) last = *query.steps.end - 1;
  }
  PlannedSteps planned;
  std::vector<StepPart> of_mode;
  StepMerge merge(view, begin, last, query.worker);
  for (auto parts = merge.next(); !parts.empty(); parts = merge.next()) {
    if (!global) {
      of_mode.clear();
      for (const StepPart& part : parts)
        if (part.rows->mode == query.mode && query.steps.contains(part.rows->mode_step))
          of_mode.push_back(part);
      if (of_mode.empty()) continue;
      parts = of_mode;
    }
    planned.add(parts, trial_detail::SelectionState::of(selection).plan(parts));
  }
  return TableMaker(view, planned).make();
}

}  // namespace cupel
