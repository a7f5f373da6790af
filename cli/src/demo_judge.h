#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/rules/rule_runner.h"

namespace cupel::demo {

/// A file with one rule in Lua, and the parameters of the rule.
struct LuaChoice {
  std::string file;
  RuleParameters parameters;
};

/// Judges a run with VanishingGradient, ExplodingTensor and a rule in Lua while it is written, in a
/// thread of its own, and prints the first findings as they come. When ExplodingTensor fires, the
/// judge asks the training to stop, by the request that Hook::stop_requested() sees.
///
/// No other code may write to the stream between begin() and the end of finish().
class Judge {
 public:
  /// `lua_rule` judges, too.
  Judge(LuaChoice lua_rule, Printer out);
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// Begins to judge the directory or location `run`, once. The run need not exist yet, but an
  /// earlier run must be gone.
  void begin(std::string run);

  /// Returns whether ExplodingTensor has fired. Any thread may call this.
  bool found_explosion() const;
  /// Waits until ExplodingTensor has fired, or until it cannot fire any more.
  void wait_for_explosion() const;

  /// Waits until the ended run has been judged completely. Throws the exception that ended the
  /// judging earlier.
  const std::vector<RuleSummary>& finish();
  /// Returns whether `rule` fired on `tensor` at some step. Call it after finish().
  bool has_finding(std::string_view rule, std::string_view tensor) const;

 private:
  void judge(const std::stop_token& stop);
  void hear(const VerdictLine& line);

  std::string run_;  // set before the thread begins
  const LuaChoice lua_rule_;
  Printer out_;
  std::size_t lines_heard_ = 0;
  std::vector<std::pair<std::string, std::string>>
      findings_;  // pairs of rule and tensor, each once
  RunSummary summary_;
  std::exception_ptr error_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool exploded_ = false;  // guarded by mutex_
  bool ended_ = false;     // guarded by mutex_

  std::jthread thread_;  // last, because it uses all members above
};

}  // namespace cupel::demo
