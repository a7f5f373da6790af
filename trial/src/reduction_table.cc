// Making a table: one pass over the steps finds the plan of each and counts the rows, another
// copies ranges of columns. Nothing is looked up per row: steps mostly repeat the plan of the step
// before, and with it the names and (one comparison says so) the forms of its rows.

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
#include "reading.h"
#include "row_plan.h"
#include "step_merge.h"
#include "view.h"

namespace cupel {

using trial_detail::FormTable;
using trial_detail::NameTable;
using trial_detail::Reading;
using trial_detail::RowBlock;
using trial_detail::RowPlan;
using trial_detail::StepMerge;
using trial_detail::StepPart;

namespace {

static_assert(ReductionTable::kCounts == RowBlock::kCounts);

template <class T>
void copy_run(const T* from, T* to, const RowPlan::Run& run) noexcept {
  from += run.from;
  to += run.to;
  if (run.stride == 1) {
    std::memcpy(to, from, run.length * sizeof(T));
    return;
  }
  for (std::size_t i = 0; i < run.length; ++i) to[i * run.stride] = from[i];
}

template <class T>
void fill_run(T value, T* to, const RowPlan::Run& run) noexcept {
  to += run.to;
  for (std::size_t i = 0; i < run.length; ++i) to[i * run.stride] = value;
}

/// The steps of a table, with their parts one after another.
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
        note_columns(*part.rows->block);
      parts.push_back(part);
    }
    steps.push_back({plan.get(), parts.size() - step.size()});
    rows += plan->rows.size();
    if (steps.size() == 1 || steps[steps.size() - 2].plan != plan.get())
      plans.emplace(plan.get(), std::move(plan));
  }

 private:
  void note_columns(const RowBlock& block) {
    for (std::size_t r = 0; r < Reduction::kCount; ++r)
      if (block.reduction_column(r) != nullptr) reductions |= 1U << r;
    for (std::size_t c = 0; c < RowBlock::kCountColumns; ++c)
      if (block.count_column(c) != nullptr) counts |= 1U << c;
  }
};

class TableMaker {
 public:
  TableMaker(const Reading& reading, const PlannedSteps& planned)
      : data_(*reading.snapshot().data), planned_(planned) {
    for (const Snapshot::Worker& worker : reading.workers())
      table_.workers.emplace_back(worker.name);
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
  /// Names the tensors in order, and numbers the rows of each plan by them.
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

  /// `before`: the parts of the step before, if it has the same plan.
  void copy_step(const RowPlan& plan, const StepPart* parts, const StepPart* before) {
    const std::size_t rows = plan.rows.size();
    // The parts of a step are of one step; each knows its mode itself.
    std::fill_n(table_.step.data() + at_, rows, parts[0].rows->step);
    for (const RowPlan::Run& run : plan.runs) {
      const StepPart& part = parts[run.part];
      fill_run(part.rows->mode_step, table_.mode_step.data() + at_, run);
      fill_run(part.rows->mode, table_.mode.data() + at_, run);
      fill_run(part.worker, table_.worker.data() + at_, run);
      copy_values(run, *part.rows);
    }
    copy_names(plan, before != nullptr);
    copy_elements(plan, parts, before);
  }

  void copy_values(const RowPlan::Run& run, const trial_detail::StepRows& rows) {
    const RowBlock& block = *rows.block;
    const std::size_t first = rows.first_row;
    const std::uint32_t* flags = block.flags() + first + run.from;
    std::uint32_t* saved = table_.saved.data() + at_ + run.to;
    constexpr std::uint32_t kShown = RowBlock::kReductions | RowBlock::kCounts;
    std::uint32_t seen = 0;
    if (run.stride == 1) {
      for (std::size_t i = 0; i < run.length; ++i) {
        seen |= flags[i];
        saved[i] = flags[i] & kShown;
      }
    } else {
      for (std::size_t i = 0; i < run.length; ++i) {
        seen |= flags[i];
        saved[i * run.stride] = flags[i] & kShown;
      }
    }
    seen_ |= seen;
    for (ReductionTable::Values& column : table_.reductions) {
      const double* from = block.reduction_column(column.reduction.index());
      double* to = column.values.data() + at_;
      if (from != nullptr) {
        copy_run(from + first, to, run);
      } else {
        fill_run(std::numeric_limits<double>::quiet_NaN(), to, run);
      }
    }
    for (std::size_t c = 0; c < counts_.size(); ++c)
      if (const std::int64_t* from = block.count_column(c))
        copy_run(from + first, counts_[c]->data() + at_, run);
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
    const auto forms = [](const trial_detail::StepRows& rows, const RowPlan::Run& run) {
      return rows.block->forms() + rows.first_row + run.from;
    };
    bool same_forms = before != nullptr;
    for (std::size_t r = 0; same_forms && r < plan.runs.size(); ++r) {
      const RowPlan::Run& run = plan.runs[r];
      same_forms =
          std::memcmp(forms(*before[run.part].rows, run), forms(*parts[run.part].rows, run),
                      run.length * sizeof(std::uint32_t)) == 0;
    }
    if (same_forms) {
      std::memcpy(to, to - plan.rows.size(), plan.rows.size() * sizeof *to);
      return;
    }
    for (const RowPlan::Run& run : plan.runs) {
      const std::uint32_t* form = forms(*parts[run.part].rows, run);
      for (std::size_t i = 0; i < run.length; ++i)
        to[run.to + i * run.stride] = data_.forms[form[i]].elements;
    }
  }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  const trial_detail::IndexData& data_;
  const PlannedSteps& planned_;
  ReductionTable table_;
  const std::array<TableColumn<std::int64_t>*, RowBlock::kCountColumns> counts_ = {
      &table_.nan, &table_.pos_inf, &table_.neg_inf, &table_.zero};
  std::vector<std::uint32_t> number_of_;  // by the id of a name
  std::size_t at_ = 0;                    // row of the table
  std::uint32_t seen_ = 0;                // bits: flags that any row has
};

}  // namespace

ReductionTable Trial::reductions(const ReductionTableQuery& query) const {
  if (!query.name.empty() && !query.collection.empty())
    throw UsageError("reductions takes a name or a collection, not both");
  const Reading reading = view_->read();
  reading.require_worker(query.worker);
  NameSelection selection(
      query.collection.empty() ? std::vector<std::string>() : std::vector{query.collection},
      query.name);
  selection.state_->use(reading.snapshot(), *view_->index);

  const bool global = query.mode == Mode::Global;
  const std::int64_t listed = reading.listed(query.show_incomplete_steps);
  std::int64_t begin = 0, last = listed;
  if (global) {
    begin = query.steps.begin.value_or(0);
    if (query.steps.end && *query.steps.end <= listed) last = *query.steps.end - 1;
  }
  PlannedSteps planned;
  std::vector<StepPart> of_mode;
  StepMerge merge(reading, begin, last, query.worker);
  for (auto parts = merge.next(); !parts.empty(); parts = merge.next()) {
    if (!global) {
      of_mode.clear();
      for (const StepPart& part : parts)
        if (part.rows->mode == query.mode && query.steps.contains(part.rows->mode_step))
          of_mode.push_back(part);
      if (of_mode.empty()) continue;
      parts = of_mode;
    }
    planned.add(parts, selection.state_->plan(parts));
  }
  return TableMaker(reading, planned).make();
}

}  // namespace cupel
