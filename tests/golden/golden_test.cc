// Golden runs: recorded once per format version; readable, and able to be sealed and copied, for
// ever.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cupel/format/events_reader.h"
#include "cupel/format/index_reader.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/copy_run.h"
#include "cupel/trial/trial.h"
#include "cupel/trial/verify_run.h"
#include "cupel/writer/seal_run.h"
#include "describe_run.h"
#include "store/scratch_directory.h"

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

// Leaves the last segment of each worker as a killed process does; returns how many there are.
std::size_t reopen(const std::string& directory) {
  LocalStore run(directory);
  std::map<std::string, SegmentName> last;
  for (const ObjectInfo& info : run.list(kIndexPrefix)) {
    const SegmentName name = SegmentName::parse_index_key(info.key).value();
    last.insert_or_assign(name.worker, name);
  }
  std::size_t reopened = 0;
  for (const auto& [worker, name] : last) {
    IndexReader index(name.index_key());
    AlignedBuffer bytes(static_cast<std::size_t>(run.stat(name.index_key())->size));
    bytes.resize(run.get_range(name.index_key(), 0, bytes.span()));
    const auto file = std::make_shared<const AlignedBuffer>(std::move(bytes));
    if (index.read(file, [](const IndexBatch&) {}) != SegmentEnd::Sealed) continue;
    run.cut_back(name.index_key(), index.consumed());
    ++reopened;
    const auto info = run.stat(name.events_key());
    if (!info) continue;
    EventsReader events(name, info->size, [&](std::uint64_t offset, std::span<std::byte> out) {
      return run.get_range(info->key, offset, out);
    });
    events.walk([](const auto&) {});
    run.cut_back(info->key, events.consumed());
  }
  return reopened;
}

// Whoever goes on with a run, or delivers it, may be newer than its writer.
TEST_P(GoldenRun, is_sealed_as_it_was_recorded) {
  const fs::path run = fs::path(CUPEL_GOLDEN) / GetParam();
  const testing::ScratchDirectory scratch;
  const std::string copy = (scratch / "run").string();
  fs::copy(run, copy, fs::copy_options::recursive);
  const std::size_t reopened = reopen(copy);
  EXPECT_EQ(reopened > 0, !GetParam().ends_with("killed"));  // its last segment has no step
  const SealReport report = seal_run(copy);
  EXPECT_EQ(report.damaged, std::vector<std::string>());
  EXPECT_EQ(report.sealed, reopened);
  EXPECT_EQ(describe_run(*create_trial(copy)), text_of(run.string() + ".expected.txt"));
  const VerifyReport verified = verify_run(LocalStore(copy));
  EXPECT_TRUE(verified.ok()) << verified.findings.front().problem;
}

// Of files with much behind the values, batch by batch.
TEST_P(GoldenRun, is_copied_as_it_was_recorded) {
  constexpr std::uintmax_t kBehind = std::uintmax_t{2} << 20U;
  const fs::path run = fs::path(CUPEL_GOLDEN) / GetParam();
  const testing::ScratchDirectory scratch;
  const std::string longer = (scratch / "longer").string(), copy = (scratch / "copy").string();
  fs::copy(run, longer, fs::copy_options::recursive);
  LocalStore from(longer), to(copy);
  for (const ObjectInfo& info : from.list(kEventsPrefix))
    fs::resize_file(fs::path(longer) / info.key, info.size + kBehind);
  copy_run(from, to);
  for (const ObjectInfo& info : to.list(kEventsPrefix)) EXPECT_LT(info.size, kBehind) << info.key;
  EXPECT_EQ(describe_run(*create_trial(copy)), text_of(run.string() + ".expected.txt"));
  const VerifyReport verified = verify_run(to);
  EXPECT_TRUE(verified.ok()) << verified.findings.front().problem;
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
