// Files that are gone, in each other's place, there twice, of another run or of a newer version:
// what a reader says of each, word for word, in expected.txt.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/crc32c.h"
#include "damage/damaged_run.h"

namespace cupel::testing {
namespace {

const std::string kFirstIndex = "index/0000-000000000/000000000000_worker_0.arrow";
const std::string kSecondIndex = "index/0000-000000000/000000000003_worker_0.arrow";
const std::string kFirstEvents = "events/0000-000000000/000000000000_worker_0.arrow";
const std::string kSecondEvents = "events/0000-000000000/000000000003_worker_0.arrow";
const std::string kCollections = "collections/000000000/worker_0_collections.json";

struct Exchange {
  const char* name;
  std::function<void(Files&)> make;
};

Files other_run() { return golden_files("small"); }

void replace_all(std::vector<std::byte>& bytes, std::string_view from, std::string_view to) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to);
  const auto changed = std::as_bytes(std::span(text));
  bytes.assign(changed.begin(), changed.end());
}

// An index file with the checksums that its bytes should have: what another program wrote whole is
// not damage.
void mend_checksums(std::vector<std::byte>& index) {
  static constexpr std::string_view kTag = "cupel.crc32c=", kMarker = "\xff\xff\xff\xff";
  std::string text(reinterpret_cast<const char*>(index.data()), index.size());
  const auto tag_behind = [&](std::size_t at) { return text.find(kTag, at); };
  std::uint32_t crc = 0;
  std::size_t begin = 0;
  for (std::size_t tag = tag_behind(0); tag != std::string::npos;) {
    const std::size_t next = tag_behind(tag + 1), digits = tag + kTag.size();
    // A message begins with the marker that is next before its checksum.
    const std::size_t end = next == std::string::npos ? text.size() : text.rfind(kMarker, next);
    text.replace(digits, 8, "00000000");
    crc = crc32c(std::as_bytes(std::span(text).subspan(begin, end - begin)), crc);
    std::array<char, 9> hexadecimal{};
    std::snprintf(hexadecimal.data(), hexadecimal.size(), "%08x", static_cast<unsigned>(crc));
    text.replace(digits, 8, hexadecimal.data());
    begin = end;
    tag = next;
  }
  const auto mended = std::as_bytes(std::span(text));
  index.assign(mended.begin(), mended.end());
}

// As its text stands in the metadata of a schema.
std::string version_text(std::string_view version) {
  return std::string("\3\0\0\0", 4) + std::string(version) + '\0';
}

void name_version(std::vector<std::byte>& index, std::string_view version) {
  replace_all(index, version_text("1.0"), version_text(version));
  mend_checksums(index);
}

const Exchange kExchanges[] = {
    {"nothing", [](Files&) {}},
    {"first_index_removed", [](Files& run) { run.erase(kFirstIndex); }},
    {"second_index_removed", [](Files& run) { run.erase(kSecondIndex); }},
    {"first_events_removed", [](Files& run) { run.erase(kFirstEvents); }},
    {"second_events_removed", [](Files& run) { run.erase(kSecondEvents); }},
    {"collections_removed", [](Files& run) { run.erase(kCollections); }},
    {"end_removed", [](Files& run) { run.erase("training_job_end.ts"); }},
    {"first_index_empty", [](Files& run) { run[kFirstIndex].clear(); }},
    {"second_events_empty", [](Files& run) { run[kSecondEvents].clear(); }},
    {"indexes_swapped", [](Files& run) { std::swap(run[kFirstIndex], run[kSecondIndex]); }},
    {"events_swapped", [](Files& run) { std::swap(run[kFirstEvents], run[kSecondEvents]); }},
    {"index_and_events_swapped",
     [](Files& run) { std::swap(run[kFirstIndex], run[kFirstEvents]); }},
    {"index_doubled_as_a_later_one",
     [](Files& run) {
       run["index/0000-000000000/000000000006_worker_0.arrow"] = run[kSecondIndex];
     }},
    {"index_doubled_as_another_worker",
     [](Files& run) {
       run["index/0000-000000000/000000000003_worker_1.arrow"] = run[kSecondIndex];
     }},
    {"index_doubled_as_a_later_attempt",
     [](Files& run) {
       run["index/0001-000000000/000000000003_worker_0.arrow"] = run[kSecondIndex];
     }},
    {"second_index_in_the_place_of_the_first",
     [](Files& run) { run[kFirstIndex] = run[kSecondIndex]; }},
    {"first_index_of_another_run",
     [](Files& run) { run[kFirstIndex] = other_run().at(kFirstIndex); }},
    {"second_index_of_another_run",
     [](Files& run) {
       run.erase(kSecondIndex);
       run["index/0000-000000000/000000000003_worker_1.arrow"] =
           other_run().at("index/0000-000000000/000000000000_worker_1.arrow");
     }},
    {"events_of_another_run", [](Files& run) { run[kFirstEvents] = other_run().at(kFirstEvents); }},
    {"collections_of_another_run",
     [](Files& run) { run[kCollections] = other_run().at(kCollections); }},
    {"collections_of_another_worker",
     [](Files& run) {
       run[kCollections] = other_run().at("collections/000000000/worker_1_collections.json");
     }},
    {"collections_of_a_newer_version",
     [](Files& run) { replace_all(run[kCollections], R"("format":"1.0")", R"("format":"2.0")"); }},
    {"first_index_of_a_newer_version", [](Files& run) { name_version(run[kFirstIndex], "2.0"); }},
    {"second_index_of_a_newer_version", [](Files& run) { name_version(run[kSecondIndex], "2.0"); }},
    {"first_events_of_a_newer_version",
     [](Files& run) { replace_all(run[kFirstEvents], version_text("1.0"), version_text("2.0")); }},
    {"indexes_of_a_newer_minor_version",
     [](Files& run) {
       name_version(run[kFirstIndex], "1.7");
       name_version(run[kSecondIndex], "1.7");
     }},
};

std::string tell(const Reading& reading, const Reading& whole, const VerifyReport& report) {
  std::ostringstream text;
  if (!reading.ended && !reading.answers.empty()) text << "reader: the run goes on\n";
  const std::string absent = lacking(reading, whole);
  const auto lines = std::count(absent.begin(), absent.end(), '\n');
  if (lines > 0) text << "absent: " << lines << " of " << whole.answers.size() << '\n';
  for (const Complaint& complaint : reading.complaints)
    text << "reader: " << complaint.text << '\n';
  for (const VerifyFinding& finding : report.findings)
    text << (finding.severity == VerifyFinding::Severity::Damage ? "damage: " : "remark: ")
         << finding.file << ", offset " << finding.offset << ": " << finding.problem << '\n';
  return text.str();
}

// The sections of expected.txt, which begin with "== name".
std::map<std::string, std::string> expected_texts() {
  std::ifstream in(CUPEL_DAMAGE_EXPECTED);
  std::map<std::string, std::string> texts;
  std::string name;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== "))
      texts[name = line.substr(3)];
    else
      texts[name] += line + '\n';
  }
  return texts;
}

class ExchangedFiles : public ::testing::TestWithParam<Exchange> {};

TEST_P(ExchangedFiles, are_told_as_expected) {
  Files files = golden_files("full");
  const Reading whole = read_all(files);
  GetParam().make(files);
  const Reading reading = read_all(files);
  EXPECT_EQ(wrong(reading, whole), "");
  VerifyReport report;
  std::string refusal;
  try {
    report = verify_run(*store_of(files));
  } catch (const std::exception& error) {
    refusal = std::string("verify: ") + error.what() + '\n';
  }
  EXPECT_EQ(tell(reading, whole, report) + refusal, expected_texts()[GetParam().name])
      << "== " << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(, ExchangedFiles, ::testing::ValuesIn(kExchanges),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ExchangedFilesTable, mends_the_checksums_of_what_it_has_changed) {
  const std::vector<std::byte> golden = golden_files("full").at(kFirstIndex);
  std::vector<std::byte> index = golden;
  mend_checksums(index);
  EXPECT_EQ(index, golden);
  name_version(index, "1.7");
  EXPECT_NE(index, golden);
}

TEST(ExchangedFilesTable, and_expected_texts_belong_together) {
  EXPECT_EQ(expected_texts().size(), std::size(kExchanges));
}

}  // namespace
}  // namespace cupel::testing
