#include "cupel/rules/preferred_selection.h"

#include <algorithm>
#include <optional>

namespace cupel {

PreferredSelection::PreferredSelection(const NeededTensors& tensors) {
  choices_.push_back({NameSelection(tensors.collections, tensors.patterns), tensors.description()});
  for (const FallbackNames& fallback : tensors.fallbacks) {
    const bool by_names = fallback.collections.empty();
    choices_.push_back(
        {by_names ? NameSelection({}, fallback.patterns) : NameSelection(fallback.collections),
         fallback.description(), by_names ? PatternList() : fallback.patterns,
         fallback.least_rank});
  }
  best_ = choices_.size();
}

bool PreferredSelection::choose(std::int64_t step, const Trial& run) {
  if (choices_.size() == 1) return false;
  memory_.bring_before(
      step, run, choices_.front().names,
      [this] {
        best_ = choices_.size();
        searched_ = 0;
      },
      [](const RecordView&) {});
  // A better choice can only come from the steps that are new.
  for (std::size_t i = 0; i < best_; ++i)
    if (is_in(run, searched_, step, choices_[i])) best_ = i;
  searched_ = step + 1;
  const std::size_t before = chosen_;
  chosen_ = best_ < choices_.size() ? best_ : 0;
  return chosen_ != before;
}

bool PreferredSelection::counts(const RecordView& record, const Choice& choice) {
  if (!choice.among_collections.empty() && !choice.among_collections.matches(record.tensor()))
    return false;
  if (choice.least_rank == 0) return true;
  const std::optional<Shape> shape = record.record().shape;
  return shape && shape->rank() >= choice.least_rank;
}

bool PreferredSelection::is_in(const Trial& run, std::int64_t begin, std::int64_t last,
                               Choice& choice) {
  // A selection warns of a collection that the run does not have.
  if (!choice.among_collections.empty() &&
      std::ranges::none_of(choice.names.collections(), [&run](const std::string& name) {
        const Collection collection = run.collection(name);
        return !collection.include_regex().empty() || !collection.tensor_names().empty();
      }))
    return false;
  bool any = false;
  const auto visit = [&](const RecordView& record) { any = any || counts(record, choice); };
  if (begin < last) run.visit_steps({begin, last}, choice.names, visit);
  if (!any) run.visit_step(last, choice.names, visit);
  return any;
}

}  // namespace cupel
