// Golden runs: recorded once per format version, readable for ever.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cupel/store/local_store.h"
#include "cupel/trial/trial.h"
#include "cupel/trial/verify_run.h"
#include "describe_run.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> golden_runs() {
  std::vector<std::string> runs;
  for (const auto& version : fs::directory_iterator(CUPEL_GOLDEN)) {
    if (!version.is_directory()) continue;
    for (const auto& run : fs::directory_iterator(version)) {
      if (run.is_directory()) runs.push_back(fs::relative(run, CUPEL_GOLDEN).string());
    }
  }
  return runs;
}

class GoldenRun : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenRun, reads_as_it_did_when_it_was_recorded) {
  const fs::path run = fs::path(CUPEL_GOLDEN) / GetParam();
  EXPECT_EQ(describe_run(*create_trial(run.string())), text_of(run.string() + ".expected.txt"));
}

// Statistics of today's values are, bit for bit, what was saved then.
TEST_P(GoldenRun, is_undamaged) {
  const LocalStore store((fs::path(CUPEL_GOLDEN) / GetParam()).string());
  const VerifyReport report = verify_run(store);
  EXPECT_TRUE(report.ok()) << report.findings.front().problem;
  EXPECT_GT(report.values, 0U);
}

INSTANTIATE_TEST_SUITE_P(Recorded, GoldenRun, ::testing::ValuesIn(golden_runs()),
                         [](const auto& run) {
                           std::string name = run.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

// The hexadecimal lines of the documentation are the bytes of the golden run that it takes apart.
TEST(FormatDocument, shows_the_bytes_of_the_tiny_golden_run) {
  const std::string file =
      text_of(fs::path(CUPEL_GOLDEN) / "1.0/tiny/index/0000-000000000/000000000000_worker_0.arrow");
  std::istringstream document(text_of(CUPEL_FORMAT_DOCUMENT));
  std::string line;
  std::size_t shown = 0;
  while (std::getline(document, line)) {
    if (line.size() < 10 || line.compare(8, 2, "  ") != 0 ||
        line.find_first_not_of("0123456789abcdef") != 8)
      continue;
    std::istringstream numbers(line.substr(10));
    std::size_t offset = std::stoul(line.substr(0, 8), nullptr, 16);
    for (unsigned byte = 0; numbers >> std::hex >> byte; ++offset, ++shown) {
      ASSERT_LT(offset, file.size()) << line;
      ASSERT_EQ(static_cast<unsigned char>(file[offset]), byte) << line << " at " << offset;
    }
  }
  EXPECT_GT(shown, 200U);
}

}  // namespace
}  // namespace cupel
