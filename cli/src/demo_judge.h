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
#include "cupel/rules/parameters.h"
#include "cupel/rules/rule_runner.h"

namespace cupel::demo {

/// A file with one rule in Lua, and the parameters to give it.
struct LuaChoice {
  std::string file;
  RuleParameters parameters;
};

/// Judges a run with VanishingGradient, ExplodingTensor and a rule in Lua while it is written, in a
/// thread of its own, and prints the first findings as they come.
///
/// Until finish() has returned, nobody else may write to the stream.
class Judge {
 public:
  /// `run` need not be there yet; `lua_rule` judges, too.
  Judge(std::string run, LuaChoice lua_rule, Printer out);
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// Whether ExplodingTensor has fired.
  bool found_explosion() const;
  /// Waits for that, as long as it may still come.
  void wait_for_explosion() const;

  /// Waits until everything in the ended run has been judged. Throws what ended the judging, if not
  /// that.
  const std::vector<RuleSummary>& finish();
  /// Whether `rule` fired on `tensor` at some step; after finish().
  bool has_finding(std::string_view rule, std::string_view tensor) const;

 private:
  void judge(const std::stop_token& stop);
  void hear(const VerdictLine& line);

  const std::string run_;
  const LuaChoice lua_rule_;
  Printer out_;
  std::size_t lines_heard_ = 0;
  std::vector<std::pair<std::string, std::string>> findings_;  // rule and tensor, each once
  RunSummary summary_;
  std::exception_ptr error_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool exploded_ = false;  // under mutex_
  bool ended_ = false;     // under mutex_

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace cupel::demo
