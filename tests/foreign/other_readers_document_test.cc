// The programs of docs/other-readers.md make the tables that cupel's own trial makes. Each program
// runs on the runs of the demo, and on runs that are hard to read, in place of the one that it
// names. A language whose readers scripts/bootstrap.sh could not fetch has no tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "docs/markdown.h"
#include "docs/scratch.h"
#include "foreign/other_programs.h"

namespace cupel {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kDocument = CUPEL_SOURCE_DIR "/docs/other-readers.md";
constexpr std::string_view kRunOfDocument = "runs/demo/vanishing";

using Rows = std::vector<std::vector<std::string>>;

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string text_of(std::int64_t step) { return cupel_foreign::bits_of(static_cast<double>(step)); }

// The tables that the programs are to make, by the names of their variables.
Rows expected_rows(const Trial& trial, const std::string& variable) {
  Rows rows;
  if (variable == "table") {
    for (const std::int64_t step : trial.steps())
      for (const std::string& name : trial.tensor_names({.step = step}))
        for (const TensorRecord& record : trial.tensor(name).records(step))
          if (const auto mean = record.reductions.get({ReductionOp::Mean, true}))
            rows.push_back({text_of(step), name, cupel_foreign::bits_of(*mean)});
  } else if (variable == "losses") {
    for (const auto& [step, value] : trial.tensor("loss").values())
      rows.push_back({text_of(step), cupel_foreign::bits_of(value.at(0))});
  } else if (variable == "weight") {
    const TensorValue value = trial.tensor("fc2.weight").value(102);
    for (std::int64_t i = 0; i < value.elements(); ++i)
      rows.push_back({cupel_foreign::bits_of(value.at(i))});
  }
  return variable == "weight" ? rows : sorted(rows);
}

// What the last assignment of a program gave.
struct Result {
  std::string line;  // of the document
  std::string variable;
  Rows rows;
};

std::vector<std::string> languages() {
  std::vector<std::string> found = {"js"};
  if (*CUPEL_PYTHON_READERS != '\0') found.emplace_back("py");
  return found;
}

class OtherReaders : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "js" && (*CUPEL_NODE == '\0' || *CUPEL_ARROW_READERS == '\0'))
      GTEST_SKIP() << "no node, or scripts/bootstrap.sh could not fetch what it reads with";
  }

  // Runs the document's programs that contain `part`, with another run in place of the document's.
  static std::vector<Result> results_on(std::string_view run, std::string_view part) {
    std::string files;
    for (const auto& block : cupel_docs::blocks_of(kDocument, GetParam())) {
      std::string text;
      for (const std::string& line : block.lines) text += line + "\n";
      if (text.find(part) == std::string::npos) continue;
      const std::size_t at = text.find(kRunOfDocument);
      if (at == std::string::npos) {
        ADD_FAILURE() << "The program in line " << block.line << " reads another run.";
        continue;
      }
      const std::string file = std::to_string(block.line);
      std::ofstream(file) << text.replace(at, kRunOfDocument.size(), run);
      files += " " + file;
    }
    const std::string arguments = "'" CUPEL_FOREIGN "/print_tables." + GetParam() + "'" + files;
    std::vector<Result> results;
    for (const std::string& line : cupel_foreign::output_of(
             GetParam() == "js" ? cupel_foreign::node(arguments)
                                : "'" CUPEL_PYTHON_READERS "/bin/python' " + arguments)) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_array()) results.push_back({json[0], json[1], json[2]});
    }
    return results;
  }

  static void expect_agreement(const std::string& run, std::string_view part) {
    const auto trial = create_trial(run);
    const std::vector<Result> results = results_on(run, part);
    EXPECT_THAT(results, Not(IsEmpty())) << "no program has " << part;
    for (const Result& result : results) {
      const bool in_order = result.variable == "weight";
      EXPECT_THAT(result.rows, Not(IsEmpty())) << "line " << result.line;
      EXPECT_EQ(in_order ? result.rows : sorted(result.rows),
                expected_rows(*trial, result.variable))
          << "line " << result.line << " on " << run;
    }
  }

  cupel_docs::Scratch scratch_;
};

INSTANTIATE_TEST_SUITE_P(, OtherReaders, ::testing::ValuesIn(languages()),
                         [](const auto& row) { return row.param; });

TEST_P(OtherReaders, make_the_tables_of_the_trial_from_the_runs_of_the_demo) {
  cupel_foreign::output_of("'" CUPEL_COMMAND "' demo runs/demo");
  expect_agreement("runs/demo/vanishing", "");
  expect_agreement("runs/demo/healthy", "table = ");
  expect_agreement("runs/demo/exploding", "table = ");
}

// Two trainings, of which the second one saves a reduction that has no column in the first one's
// file.
void write_continued_run(const std::string& run) {
  for (const bool second : {false, true}) {
    HookOptions options;
    options.out_dir = run;
    options.existing = Existing::Continue;
    options.include_collections = {"gradients"};
    options.save_config = {.save_interval = 1};
    Hook hook(options);
    ReductionConfig reductions = {.reductions = {"mean"}};
    if (second) reductions.abs_reductions = {"mean"};
    hook.get_collection("gradients").set_reduction_config(reductions);
    for (const float mean : {-0.5F, 1.5F}) {
      hook.next_step();
      const std::vector<float> gradient(3, mean);
      hook.save_tensor("gradient/fc.weight", TensorView(gradient.data(), {3}));
    }
    hook.close();
  }
}

TEST_P(OtherReaders, read_files_that_differ_in_columns) {
  write_continued_run("continued");
  expect_agreement("continued", "table = ");
}

TEST_P(OtherReaders, keep_a_nan_that_was_saved) {
  expect_agreement(CUPEL_GOLDEN "/1.0/full", "table = ");
}

// Programs that read open files have the length of the magic before the stream in them.
constexpr std::string_view kBehindMagic = "(8)";

TEST_P(OtherReaders, read_a_run_that_is_still_written) {
  HookOptions options;
  options.out_dir = "open";
  options.include_collections = {"gradients"};
  options.save_config = {.save_interval = 1};
  Hook hook(options);
  hook.get_collection("gradients").set_reduction_config({.abs_reductions = {"mean"}});
  const std::vector<float> gradient(3, 0.5F);
  for (int i = 0; i < 3; ++i) {
    hook.next_step();
    hook.save_tensor("gradient/fc.weight", TensorView(gradient.data(), {3}));
  }
  expect_agreement("open", kBehindMagic);
}

TEST_P(OtherReaders, read_the_batches_before_one_that_is_incomplete) {
  if (GetParam() == "js") return;  // apache-arrow fails there, as the document says.
  expect_agreement(CUPEL_GOLDEN "/1.0/killed", kBehindMagic);
}

TEST(OtherReadersVersions, are_those_that_the_tests_install) {
  std::ostringstream bootstrap;
  bootstrap << std::ifstream(CUPEL_SOURCE_DIR "/scripts/bootstrap.sh").rdbuf();
  const auto readers = cupel_docs::table_of(kDocument, "reader");
  EXPECT_GE(readers.size(), 6U);
  for (const auto& row : readers) {
    const std::string name = cupel_docs::quoted_in(row[0]).front();
    const std::string pin = name + (row[2] == "Python" ? "==" : "@") + row[1];
    EXPECT_NE(bootstrap.str().find(pin), std::string::npos) << pin;
  }
}

}  // namespace
}  // namespace cupel
