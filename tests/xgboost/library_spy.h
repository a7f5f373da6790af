#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cupel::testing {

/// Stands between the watch and XGBoost: this program has functions of the same names, which count
/// the calls of the C API and pass them on. A test may have one of them fail, or return a text of
/// the test's.
struct LibrarySpy {
  std::map<std::string, int> calls;            ///< Calls since the last clear(), by function.
  std::map<std::string, std::string> failing;  ///< Functions that fail, and their messages.
  std::vector<void*> evaluated;                ///< Data of the last XGBoosterEvalOneIter.
  std::function<void()> before_call;           ///< Called before each call, unless empty.
  std::string evaluation;                      ///< Returned by XGBoosterEvalOneIter, unless empty.
  std::vector<std::string> dumps;              ///< Returned by dumps of trees, unless empty.
  bool distributed = false;                    ///< Returned by XGCommunicatorIsDistributed.

  void clear() { *this = {}; }
};

LibrarySpy& library_spy();

}  // namespace cupel::testing
