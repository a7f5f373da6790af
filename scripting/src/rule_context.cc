// What one evaluation of a rule collects: findings, skips, and what was read of each tensor.
//
// Functions that a script calls write into the verdict of the step that is judged. With
// `--explain`, each tensor that was read becomes an observation. What the script causes here counts
// against the memory of its state until the evaluation ends. The thread that asks the rule runs it.

#include "rule_context.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "cupel/core/error.h"

namespace cupel::scripting_detail {
namespace {

// The observations of one step are limited.
constexpr std::size_t kMostObservations = 10'000;
// A vector that grows has its elements twice, the second time with as much room again.
constexpr std::size_t kGrowth = 3;

std::size_t taken_by(const std::string& text) noexcept {
  constexpr std::size_t kBeside = 32;
  return text.size() + kBeside;
}

// Where the last observation of a tensor is, from a worker or from any (""). Of its own strings,
// since the observations move.
class Places {
 public:
  explicit Places(const std::vector<Observation>& observations) {
    for (std::size_t i = 0; i < observations.size(); ++i)
      for (const std::string& worker : {observations[i].worker, std::string()})
        last_[{observations[i].tensor, worker}] = i;
  }
  const std::size_t* find(const std::string& tensor, const std::string& worker) const {
    const auto entry = last_.find({tensor, worker});
    return entry == last_.end() ? nullptr : &entry->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> last_;
};

}  // namespace

void RuleContext::begin(Verdict& verdict, std::int64_t step, bool explaining) {
  verdict_ = &verdict;
  step_ = step;
  explaining_ = explaining;
  has_read_ = false;
  set_last_tensor({}, {}, 0);
  observations_.clear();
  of_other_runs_.clear();
  explained_.clear();
}

void RuleContext::end() noexcept {
  verdict_ = nullptr;
  if (holder_ != nullptr) holder_->release(std::exchange(held_, 0));
}

void RuleContext::hold(lua_State* lua, std::size_t bytes) {
  holder_ = &LuaState::of(lua);
  holder_->hold(lua, bytes);
  held_ += bytes;
}

Verdict& RuleContext::verdict() const {
  if (verdict_ == nullptr) throw UsageError("this works only while a step is judged");
  return *verdict_;
}

void RuleContext::skip(lua_State* lua, Skip skip) {
  forget(skip);
  skip_beside(lua, std::move(skip));
}

void RuleContext::skip_beside(lua_State* lua, Skip skip) {
  hold(lua, kGrowth * sizeof skip + taken_by(skip.tensor) + taken_by(skip.worker) +
                taken_by(skip.reason));
  verdict().skip(std::move(skip));
}

// What was read of a tensor, and what was counted of it if it is the one that is looked at.
void RuleContext::forget(const Skip& skip) {
  std::string_view worker = skip.worker;
  if (skip.tensor == last_tensor_ && (worker.empty() || worker == worker_)) {
    worker = worker_;
    verdict().count(-std::exchange(readings_, 0));
  }
  std::erase_if(observations_, [&](const Observation& seen) {
    return seen.tensor == skip.tensor && (worker.empty() || seen.worker == worker);
  });
}

void RuleContext::observe(std::string_view tensor, std::string_view worker, Reading reading) {
  auto& observations = reading.run.empty() ? observations_ : of_other_runs_;
  if (observations.size() >= kMostObservations) return;
  if (!reading.run.empty()) reading.what += " of " + reading.run;
  observations.push_back({.tensor = std::string(tensor),
                          .worker = std::string(worker),
                          .read = std::move(reading.what),
                          .compared = std::move(reading.got),
                          .fired = false});
}

void RuleContext::add_explanation(lua_State* lua, Observation observation) {
  if (!explaining_ || explained_.size() >= kMostObservations) return;
  hold(lua, kGrowth * sizeof observation + taken_by(observation.tensor) +
                taken_by(observation.worker) + taken_by(observation.read) +
                taken_by(observation.compared));
  explained_.push_back(std::move(observation));
}

void RuleContext::add(lua_State* lua, Finding finding) {
  if (verdict().findings().size() < Verdict::kMaxFindings)
    hold(lua, kGrowth * sizeof finding + taken_by(finding.tensor) + taken_by(finding.worker) +
                  taken_by(finding.message));
  verdict().add(std::move(finding));
}

// An observation of the rule's own replaces all readings of its tensor.
void RuleContext::take_over_readings() {
  const Places places(observations_);
  std::set<std::string> by_itself;
  for (Observation& explained : explained_) {
    const std::size_t* const place = places.find(explained.tensor, explained.worker);
    if (explained.read.empty() && place != nullptr) explained.read = observations_[*place].read;
    by_itself.insert(explained.tensor);
  }
  for (auto* const read : {&observations_, &of_other_runs_})
    std::erase_if(*read, [&](const Observation& observation) {
      return by_itself.contains(observation.tensor);
    });
}

void RuleContext::explain() {
  if (!explaining_) return;
  take_over_readings();
  const std::size_t read = observations_.size();
  for (Observation& explained : explained_) observations_.push_back(std::move(explained));
  const Places places(observations_);
  for (const Finding& finding : verdict_->findings()) {
    const std::size_t* const place = places.find(finding.tensor, finding.worker);
    if (place == nullptr) {
      observations_.push_back({finding.tensor, finding.worker, "", finding.message, true});
      continue;
    }
    observations_[*place].fired = true;
    if (*place < read) observations_[*place].compared = finding.message;
  }
  for (Observation& observation : observations_) verdict_->observe(std::move(observation));
  for (Observation& observation : of_other_runs_) verdict_->observe(std::move(observation));
  observations_.clear();
  of_other_runs_.clear();
}

}  // namespace cupel::scripting_detail
