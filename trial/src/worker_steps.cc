// The steps of one worker, in lists that only grow: all steps, the steps of each mode, the steps
// with reserved tensors, and the first use of each layout. Searches are binary.
//
// The refreshing thread appends. Other threads read without a lock, below the sizes that their
// snapshot has. When an attempt takes steps back, before() makes a new list, so that earlier
// snapshots keep theirs.

#include "worker_steps.h"

namespace cupel::trial_detail {

namespace {

/// The first index in [0, count) for which `holds` is true; `count` if there is none. `holds` is
/// true for all later indices, too.
template <class F>
std::size_t first_that(std::size_t count, F&& holds) noexcept {
  std::size_t begin = 0;
  while (count > 0) {
    const std::size_t half = count / 2;
    if (holds(begin + half)) {
      count = half;
    } else {
      begin += half + 1;
      count -= half + 1;
    }
  }
  return begin;
}

}  // namespace

void WorkerSteps::append(const StepRows& rows) {
  if (rows.layout->has_reserved()) reserved_.push_back(rows);
  if (rows.layout->visible() == 0) return;
  const auto index = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back(rows);
  auto& list = of_mode_[slot(rows.mode)];
  if (list.size() > 0 && steps_[list[list.size() - 1]].mode_step >= rows.mode_step)
    falls_[slot(rows.mode)].store(true, std::memory_order_relaxed);
  list.push_back(index);
  if (index > 0 && steps_[index - 1].layout == rows.layout && steps_[index - 1].mode == rows.mode)
    return;
  if (known_uses_.emplace(rows.layout, rows.mode).second)
    uses_.push_back({rows.layout, rows.step, rows.mode});
}

WorkerSteps::Sizes WorkerSteps::sizes() const noexcept {
  Sizes sizes{steps_.size(), reserved_.size(), uses_.size(), {}};
  for (std::size_t m = 0; m < of_mode_.size(); ++m) sizes.of_mode[m] = of_mode_[m].size();
  return sizes;
}

std::shared_ptr<WorkerSteps> WorkerSteps::before(std::int64_t step) const {
  auto copy = std::make_shared<WorkerSteps>();
  // append() puts a step with both kinds of rows into both lists, so it is appended once.
  std::size_t s = 0, r = 0;
  const auto step_left = [&] { return s < steps_.size() && steps_[s].step < step; };
  const auto reserved_left = [&] { return r < reserved_.size() && reserved_[r].step < step; };
  while (step_left() || reserved_left()) {
    if (!step_left() || (reserved_left() && reserved_[r].step < steps_[s].step)) {
      copy->append(reserved_[r++]);
      continue;
    }
    if (reserved_left() && reserved_[r].step == steps_[s].step) ++r;
    copy->append(steps_[s++]);
  }
  return copy;
}

std::size_t WorkerSteps::count_until(std::int64_t global, std::size_t count) const noexcept {
  if (count == 0 || steps_[count - 1].step <= global) return count;
  return first_that(count, [&](std::size_t i) { return steps_[i].step > global; });
}

const StepRows* WorkerSteps::find(std::int64_t global, std::size_t count) const noexcept {
  const std::size_t index =
      first_that(count, [&](std::size_t i) { return steps_[i].step >= global; });
  return index < count && steps_[index].step == global ? &steps_[index] : nullptr;
}

std::size_t WorkerSteps::of_mode_until(Mode mode, std::int64_t mode_step, const Sizes& sizes,
                                       std::int64_t limit) const noexcept {
  const auto& list = of_mode_[slot(mode)];
  const std::size_t count = first_that(sizes.of_mode[slot(mode)],
                                       [&](std::size_t i) { return steps_[list[i]].step > limit; });
  if (!rises(mode)) return count;
  return first_that(count, [&](std::size_t i) { return steps_[list[i]].mode_step > mode_step; });
}

const StepRows* WorkerSteps::at_or_after(Mode mode, std::int64_t mode_step, const Sizes& sizes,
                                         std::int64_t limit) const noexcept {
  const auto& list = of_mode_[slot(mode)];
  if (rises(mode)) {
    const std::size_t nth = of_mode_until(mode, mode_step - 1, sizes, limit);
    if (nth == sizes.of_mode[slot(mode)] || steps_[list[nth]].step > limit) return nullptr;
    return &steps_[list[nth]];
  }
  const std::size_t count = of_mode_until(mode, mode_step, sizes, limit);
  const StepRows* best = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const StepRows& rows = steps_[list[i]];
    if (rows.mode_step >= mode_step && (best == nullptr || rows.mode_step <= best->mode_step))
      best = &rows;
  }
  return best;
}

}  // namespace cupel::trial_detail
