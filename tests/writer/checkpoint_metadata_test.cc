#include "../../writer/src/checkpoint_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "core/log_capture.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel {
namespace {

using namespace writer_detail;

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kMetadata = "checkpoints/metadata.json";
constexpr const char* kTwoEntries =
    R"([{"training-run": 4, "latest-global-step-saved": 8, "latest-global-step-seen": 11,
         "latest-mode-step": {"TRAIN": 9, "EVAL": 1, "GLOBAL": 11}, "theirs": [1.5]},
        {"training-run": 2, "latest-global-step-saved": 3, "latest-global-step-seen": 5,
         "latest-mode-step": {"TRAIN": 5}}])";

class Checkpoints : public ::testing::Test {
 protected:
  Checkpoints() { fs::create_directory(directory()); }
  fs::path directory() const { return scratch_ / "checkpoints"; }

  CheckpointMetadata open() const { return CheckpointMetadata(directory().string()); }
  void write(std::string_view name, std::string_view text) const {
    const fs::path file = directory() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(scratch_ / kMetadata, std::ios::binary).rdbuf();
    return all.str();
  }
  nlohmann::json entries() const {
    return fs::exists(scratch_ / kMetadata) ? nlohmann::json::parse(text())
                                            : nlohmann::json::array();
  }
  static StepCounters at(std::int64_t global, std::int64_t train = -1) {
    StepCounters counters;
    counters.global = global;
    counters[Mode::Train] = train;
    return counters;
  }

  testing::LogCapture log_;
  testing::ScratchDirectory scratch_;
};

TEST_F(Checkpoints, without_entries_counting_begins_at_the_beginning) {
  EXPECT_EQ(open().restored().counters, StepCounters{});
  EXPECT_EQ(open().restored().training_run, 0);
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(Checkpoints, the_entry_with_the_largest_seen_step_is_restored) {
  write("metadata.json", kTwoEntries);
  const auto restored = open().restored();
  EXPECT_EQ(restored.training_run, 5);
  StepCounters expected = at(11, 9);
  expected[Mode::Eval] = 1;
  EXPECT_EQ(restored.counters, expected);
}

TEST_F(Checkpoints, the_first_look_only_takes_stock) {
  write("model.pt", "abc");
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(Checkpoints, a_new_checkpoint_is_noted_with_the_present_state) {
  CheckpointMetadata metadata = open();
  metadata.look(at(2, 1), 0);
  write("model.pt", "abc");
  metadata.look(at(3, 2), 1);
  metadata.look(at(4, 3), 1);
  EXPECT_EQ(entries(), nlohmann::json::parse(
                           R"([{"training-run": 0, "latest-global-step-saved": 1,
                                "latest-global-step-seen": 3,
                                "latest-mode-step": {"GLOBAL": 3, "TRAIN": 2}}])"));
  EXPECT_EQ(open().restored().counters, at(3, 2));
}

TEST_F(Checkpoints, a_checkpoint_that_grew_or_was_written_anew_is_noted) {
  write("model.pt", "abc");
  fs::last_write_time(directory() / "model.pt",
                      fs::file_time_type::clock::now() - std::chrono::seconds(5));
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  write("model.pt", "xyz");
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), SizeIs(1));
  std::ofstream(directory() / "model.pt", std::ios::app) << "more";
  metadata.look(at(2), -1);
  EXPECT_THAT(entries(), SizeIs(2));
}

TEST_F(Checkpoints, a_checkpoint_that_went_and_came_back_has_appeared) {
  write("model.pt", "abc");
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  fs::remove(directory() / "model.pt");
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), IsEmpty());
  write("model.pt", "abc");
  metadata.look(at(2), -1);
  EXPECT_THAT(entries(), SizeIs(1));
}

TEST_F(Checkpoints, directories_of_checkpoints_are_looked_into) {
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  write("checkpoint-500/global_step/model.pt", "abc");
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), SizeIs(1));
}

TEST_F(Checkpoints, metadata_temporary_files_and_marks_of_uploads_are_no_checkpoints) {
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  write("model.pt.sagemaker-uploaded", "");
  write("checkpoint-500/metadata.json", "[]");
  write("model.pt.tmp", "half");
  metadata.look(at(1), -1);
  EXPECT_FALSE(fs::exists(scratch_ / kMetadata));
}

TEST_F(Checkpoints, symbolic_links_are_not_followed) {
  fs::create_directory(scratch_ / "elsewhere");
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  fs::create_directory_symlink(directory(), directory() / "loop");
  fs::create_directory_symlink(scratch_ / "elsewhere", directory() / "link");
  scratch_.add_to_file("elsewhere/model.pt", "abc");
  fs::create_symlink(scratch_ / "elsewhere/model.pt", directory() / "model.pt");
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(Checkpoints, other_entries_stay_as_they_are) {
  write("metadata.json", kTwoEntries);
  CheckpointMetadata metadata = open();
  metadata.look(at(11, 9), 8);
  write("model.pt", "abc");
  metadata.look(at(12, 10), 8);
  ASSERT_THAT(entries(), SizeIs(3));
  nlohmann::json first_two = entries();
  first_two.erase(2);
  EXPECT_EQ(first_two, nlohmann::json::parse(kTwoEntries));
  EXPECT_EQ(entries()[2].at("training-run"), 5);
}

TEST_F(Checkpoints, an_entry_that_another_process_added_meanwhile_stays) {
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  write("metadata.json", kTwoEntries);
  write("model.pt", "abc");
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), SizeIs(3));
}

TEST_F(Checkpoints, beyond_ten_thousand_entries_the_oldest_go) {
  nlohmann::json many = nlohmann::json::array();
  for (int i = 0; i < 10'000; ++i)
    many.push_back({{"training-run", 0}, {"latest-global-step-seen", i}});
  write("metadata.json", many.dump());
  CheckpointMetadata metadata = open();
  metadata.look(at(10'000), -1);
  write("model.pt", "abc");
  metadata.look(at(10'001), -1);
  ASSERT_THAT(entries(), SizeIs(10'000));
  EXPECT_EQ(entries().front().at("latest-global-step-seen"), 1);
  EXPECT_EQ(entries().back().at("latest-global-step-seen"), 10'001);
}

// Text that is too long to be printed as a parameter.
struct Text {
  std::string text;
  friend void PrintTo(const Text& text, std::ostream* out) { *out << text.text.size() << " bytes"; }
};

class ForeignMetadata : public Checkpoints, public ::testing::WithParamInterface<Text> {};

TEST_P(ForeignMetadata, is_warned_of_once_counts_as_absent_and_is_left_alone) {
  write("metadata.json", GetParam().text);
  CheckpointMetadata metadata = open();
  EXPECT_EQ(metadata.restored().counters, StepCounters{});
  metadata.look(at(0), -1);
  for (int i = 1; i < 3; ++i) {
    write("model" + std::to_string(i), "abc");
    metadata.look(at(i), -1);
  }
  EXPECT_TRUE(text() == GetParam().text);
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_EQ(log_.lines()[0].first, LogLevel::Warning);
  EXPECT_THAT(log_.lines()[0].second, HasSubstr("metadata.json"));
}

std::string entry(const std::string& seen, const std::string& run = "0") {
  return R"([{"training-run": )" + run + R"(, "latest-global-step-seen": )" + seen + "}]";
}
std::vector<Text> texts(std::initializer_list<std::string> of) {
  std::vector<Text> result;
  for (const std::string& text : of) result.push_back({text});
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoints, ForeignMetadata,
    ::testing::ValuesIn(texts(
        {"", "{", "{}", "[1]", "[[]]", "[{}]", R"([{"training-run": 0}])", entry("1.5"),
         entry("1e300"), entry("9223372036854775807"), entry("-2"), entry("1", "true"),
         entry("1", R"("0")"), entry("1", "-1"),
         R"([{"training-run": 0, "latest-global-step-seen": 1, "latest-mode-step": {"TRAIN": "x"}}])",
         std::string(100'000, '['), "[" + std::string((std::size_t{16} << 20U) + 1, ' ') + "]"})),
    [](const auto& parameter) { return "case_" + std::to_string(parameter.index); });

TEST_F(Checkpoints, metadata_that_break_later_are_left_alone_too) {
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  write("metadata.json", "broken");
  for (int i = 1; i < 3; ++i) {
    write("model" + std::to_string(i), "abc");
    metadata.look(at(i), -1);
  }
  EXPECT_EQ(text(), "broken");
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(Checkpoints, metadata_that_are_no_regular_file_are_left_alone) {
  ASSERT_EQ(::mkfifo((scratch_ / kMetadata).c_str(), 0600), 0);
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  write("model.pt", "abc");
  metadata.look(at(1), -1);
  EXPECT_TRUE(fs::is_fifo(scratch_ / kMetadata));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(Checkpoints, a_directory_that_is_not_there_yet_is_waited_for) {
  fs::remove(directory());
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  EXPECT_FALSE(fs::exists(directory()));
  write("model.pt", "abc");
  metadata.look(at(1), -1);
  EXPECT_THAT(entries(), SizeIs(1));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(Checkpoints, a_directory_that_vanished_is_one_warning) {
  CheckpointMetadata metadata = open();
  metadata.look(at(0), -1);
  fs::remove_all(directory());
  metadata.look(at(1), -1);
  metadata.look(at(2), -1);
  EXPECT_THAT(log_.lines(), SizeIs(1));
  EXPECT_FALSE(fs::exists(directory()));
}

TEST_F(Checkpoints, a_directory_of_too_many_files_is_one_warning) {
  for (int i = 0; i < 10'001; ++i) std::ofstream(directory() / std::to_string(i));
  CheckpointMetadata metadata = open();
  for (int i = 0; i < 3; ++i) metadata.look(at(i), -1);
  EXPECT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(entries(), IsEmpty());
}

class CheckpointConfiguration : public Checkpoints {
 protected:
  std::optional<CheckpointMetadata> with(const std::string& text) {
    const std::string file = (scratch_ / "config.json").string();
    std::ofstream(file, std::ios::binary) << text;
    environment_.set("CHECKPOINT_CONFIG_FILE_PATH", file);
    return CheckpointMetadata::from_environment();
  }
  testing::EnvironmentGuard environment_;
};

TEST_F(CheckpointConfiguration, names_the_directory) {
  write("metadata.json", kTwoEntries);
  const auto metadata = with(R"({"LocalPath": ")" + directory().string() + R"(", "S3Uri": "x"})");
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata->restored().training_run, 5);
}

TEST_F(CheckpointConfiguration, is_none_without_the_file_or_the_key) {
  environment_.set("CHECKPOINT_CONFIG_FILE_PATH", (scratch_ / "absent").string());
  EXPECT_FALSE(CheckpointMetadata::from_environment());
  for (const char* text : {"{}", R"({"LocalPath": null})", R"({"LocalPath": ""})"})
    EXPECT_FALSE(with(text)) << text;
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(CheckpointConfiguration, that_cannot_be_understood_is_none_and_a_warning) {
  std::size_t warnings = 0;
  for (const char* text : {"", "{", "[]", R"({"LocalPath": 1})", R"({"LocalPath": "a\u0000b"})"}) {
    EXPECT_FALSE(with(text)) << text;
    EXPECT_THAT(log_.lines(), SizeIs(++warnings)) << text;
  }
}

}  // namespace
}  // namespace cupel
