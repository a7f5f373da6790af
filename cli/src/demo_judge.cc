#include "demo_judge.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "colour.h"
#include "cupel/core/error.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/verdict_line.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/trial.h"

namespace cupel::demo {
namespace {

constexpr std::string_view kExplosionRule = "ExplodingTensor";
constexpr std::size_t kMaxLines = 3;

// Nothing in the demo takes this long: a longer wait is in vain.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(20);

}  // namespace

Judge::Judge(LuaChoice lua_rule, Printer out) : lua_rule_(std::move(lua_rule)), out_(out) {}

void Judge::begin(std::string run) {
  run_ = std::move(run);
  thread_ = std::jthread([this](const std::stop_token& stop) { judge(stop); });
}

bool Judge::found_explosion() const {
  const std::lock_guard lock(mutex_);
  return exploded_;
}

void Judge::wait_for_explosion() const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return exploded_ || ended_; });
}

const std::vector<RuleSummary>& Judge::finish() {
  thread_.join();
  if (error_) std::rethrow_exception(error_);
  if (lines_heard_ > kMaxLines) out_ << "  … and " << lines_heard_ - kMaxLines << " more\n";
  return summary_.rules;
}

bool Judge::has_finding(std::string_view rule, std::string_view tensor) const {
  return std::any_of(findings_.begin(), findings_.end(), [&](const auto& finding) {
    return finding.first == rule && finding.second == tensor;
  });
}

void Judge::judge(const std::stop_token& stop) {
  try {
    const auto trial = create_trial(run_, {.wait_for_run = kPatience, .stop_waiting = stop});
    RuleRunner runner(*trial, {.idle_timeout = kPatience});
    const std::stop_callback stop_runner(stop, [&runner] { runner.stop(); });
    runner.add("VanishingGradient");
    runner.add({.definition = builtin_rules().find(kExplosionRule),
                .actions = {{.kind = Action::Kind::Stop}}});
    const RuleFile file = read_lua_rules(lua_rule_.file);
    if (!file.errors.empty()) throw Error(to_text(file.errors.front()));
    runner.add(file.definitions.front()->make(*trial, lua_rule_.parameters));
    summary_ = runner.run([this](const VerdictLine& line) { hear(line); });
  } catch (...) {
    error_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Judge::hear(const VerdictLine& line) {
  if (line.final_line || line.status != RuleStatus::IssuesFound) return;
  for (const Finding& finding : line.tensors)
    if (!has_finding(line.rule, finding.tensor)) findings_.emplace_back(line.rule, finding.tensor);

  std::istringstream text(command_detail::painted_text(out_, line));
  for (std::string one; std::getline(text, one);)
    if (++lines_heard_ <= kMaxLines)
      out_ << "  " << Composed{one} << std::endl;  // flushed, because a person watches

  if (line.rule != kExplosionRule) return;
  const std::lock_guard lock(mutex_);
  exploded_ = true;
  changed_.notify_all();
}

}  // namespace cupel::demo
