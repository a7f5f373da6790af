// Every bit of every file of a run flipped, every file cut at every byte and with something behind
// it: a reader gets right answers, or complaints that name the file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "damage/damaged_run.h"
#include "damage/largest_allocation.h"

namespace cupel::testing {
namespace {

using namespace std::literals;

struct DamagedFile {
  const char* run;
  const char* file;  // a worker's files have the rest of their names in common
  // Of a file that goes on: what is behind the damage is not there yet.
  bool may_be_unfinished = false;
};

std::string key_of(const DamagedFile& file, const Files& files) {
  const auto found = std::ranges::find_if(
      files, [&](const auto& one) { return one.first.starts_with(file.file); });
  return found == files.end() ? "" : found->first;
}

class EveryByte : public ::testing::TestWithParam<DamagedFile> {
 protected:
  // Puts other bytes in the place of the file and reads the run.
  void read_with(std::vector<std::byte> bytes, const std::string& what) {
    SCOPED_TRACE(what);
    const std::uint64_t size = bytes.size();
    Files damaged = files_;
    damaged[key_] = std::move(bytes);
    reset_largest_allocation();
    const Reading reading = read_all(damaged);
    EXPECT_LE(largest_allocation(), kMostMemory);
    EXPECT_EQ(wrong(reading, whole_), "");
    for (const Complaint& complaint : reading.complaints) {
      EXPECT_EQ(complaint.file, key_) << complaint.text;
      EXPECT_LE(complaint.offset, std::max<std::uint64_t>(size, files_.at(key_).size()));
    }
    if (GetParam().may_be_unfinished) return;
    const std::string absent = lacking(reading, whole_);
    if (reading.complaints.empty()) {
      EXPECT_EQ(absent, "");
    }
    const VerifyReport report = verify_run(*store_of(damaged));
    const bool is_told = std::ranges::any_of(report.findings, [&](const VerifyFinding& finding) {
      return finding.severity == VerifyFinding::Severity::Damage && finding.file == key_;
    });
    if (is_told) return;
    EXPECT_TRUE(reading.complaints.empty() && absent.empty()) << "verify finds nothing in the file";
  }

  static constexpr std::size_t kMostMemory = std::size_t{1} << 20U;
  const Files files_ = golden_files(GetParam().run);
  const std::string key_ = key_of(GetParam(), files_);
  const std::vector<std::byte>& bytes_ = files_.at(key_);
  const Reading whole_ = read_all(files_);
};

TEST_P(EveryByte, flipped_in_each_bit) {
  // Of a large run one bit of each byte, unless all are asked for.
  const bool all = std::getenv("CUPEL_DAMAGE_ALL") != nullptr || GetParam().run == "small"sv;
  for (std::size_t at = 0; at < bytes_.size() && !HasFailure(); ++at) {
    for (unsigned bit = all ? 0 : at * 5 % 8; bit < 8; bit += all ? 1 : 8) {
      auto bytes = bytes_;
      bytes[at] ^= static_cast<std::byte>(1U << bit);
      read_with(std::move(bytes), "bit " + std::to_string(bit) + " of " + std::to_string(at));
    }
  }
}

TEST_P(EveryByte, cut_before_it) {
  for (std::size_t size = 0; size < bytes_.size() && !HasFailure(); ++size)
    read_with({bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)},
              "cut to " + std::to_string(size));
}

TEST_P(EveryByte, with_something_behind_the_last_one) {
  for (const std::string_view more :
       {std::string_view("\0", 1), std::string_view("{}"),
        std::string_view("\xff\xff\xff\xff\0\0\0\0", 8), std::string_view("ARROW1")}) {
    auto bytes = bytes_;
    const auto behind = std::as_bytes(std::span(more));
    bytes.insert(bytes.end(), behind.begin(), behind.end());
    read_with(std::move(bytes), "with " + std::to_string(more.size()) + " bytes more");
    bytes = bytes_;
    bytes.insert(bytes.end(), bytes_.begin(), bytes_.end());
    read_with(std::move(bytes), "twice");
  }
}

INSTANTIATE_TEST_SUITE_P(
    , EveryByte,
    ::testing::Values(DamagedFile{"small", "index/0000-000000000/000000000000_worker_0"},
                      DamagedFile{"small", "events/0000-000000000/000000000000_worker_1"},
                      DamagedFile{"small", "collections/000000000/worker_0"},
                      DamagedFile{"small", "collections/000000000/worker_1"},
                      DamagedFile{"full", "index/0000-000000000/000000000000"},
                      DamagedFile{"full", "index/0000-000000000/000000000003"},
                      DamagedFile{"full", "events/0000-000000000/000000000000"},
                      DamagedFile{"full", "events/0000-000000000/000000000003"},
                      DamagedFile{"killed", "index/0000-000000000/000000000000"},
                      DamagedFile{"killed", "index/0000-000000000/000000000003", true},
                      DamagedFile{"killed", "events/0000-000000000/000000000003", true}),
    [](const auto& row) {
      std::string name = std::string(row.param.run) + "_" + row.param.file;
      for (char& c : name)
        if (c == '/' || c == '-') c = '_';
      return name;
    });

}  // namespace
}  // namespace cupel::testing
