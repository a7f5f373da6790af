#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/log_capture.h"
#include "cupel/store/local_store.h"
#include "exit_codes.h"
#include "run_cli.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"

namespace cupel::testing {

// The tests of the command line are also tests of its parts.
using namespace command_detail;  // NOLINT(google-build-using-namespace)

using Json = nlohmann::ordered_json;

/// What a command left behind.
struct Ran {
  int code = -1;
  std::string out, err;

  Json json() const { return Json::parse(out); }
  std::vector<Json> json_lines() const {
    std::vector<Json> lines;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
    return lines;
  }
};

inline Ran run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Ran ran;
  ran.code = run_cli(arguments, out, err);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

/// A directory with a run in it, which a test writes.
class CliTest : public ::testing::Test {
 protected:
  /// Where the run is, for the command line.
  std::string path() const { return (scratch_ / "run").string(); }
  std::string file(std::string_view name) const { return (scratch_ / name).string(); }

  ScratchDirectory scratch_;
  LocalStore store_{path()};
  LogCapture log_;  // what would go to standard error
};

}  // namespace cupel::testing
