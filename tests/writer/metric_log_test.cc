#include "../../writer/src/metric_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/log_capture.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel {
namespace {

using namespace writer_detail;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MetricLogTest : public ::testing::Test {
 protected:
  std::filesystem::path directory() const { return scratch_ / "deep/metrics"; }
  std::filesystem::path file() const {
    return directory() / (std::to_string(::getpid()) + ".json");
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  static void add(MetricLog& log, const std::vector<double>& values, std::int64_t step = 0) {
    log.add("loss", Mode::Train, step, TensorView(values.data(), {values.size()}));
  }

  testing::LogCapture log_;
  testing::ScratchDirectory scratch_;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST_F(MetricLogTest, a_save_is_one_line_with_the_mean_of_its_value) {
  const double before = seconds_now();
  MetricLog log(directory().string());
  add(log, {1, 2, 6}, 12);
  log.flush();
  ASSERT_THAT(lines(), SizeIs(1));
  const nlohmann::json line = lines()[0];
  EXPECT_THAT(line, SizeIs(4));
  EXPECT_EQ(line.at("MetricName"), "loss_TRAIN");
  EXPECT_EQ(line.at("Value"), 3.0);
  EXPECT_EQ(line.at("IterationNumber"), 12);
  EXPECT_GE(line.at("Timestamp").get<double>(), before);
  EXPECT_LE(line.at("Timestamp").get<double>(), seconds_now());
}

TEST_F(MetricLogTest, what_is_not_finite_is_written_as_text) {
  MetricLog log(directory().string());
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity})
    add(log, {value});
  log.flush();
  std::vector<std::string> values;
  for (const auto& line : lines()) values.push_back(line.at("Value"));
  EXPECT_THAT(values, ElementsAre("NaN", "Infinity", "-Infinity"));
}

TEST_F(MetricLogTest, nothing_is_written_before_a_flush) {
  MetricLog log(directory().string());
  add(log, {1});
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(MetricLogTest, lines_that_wait_are_written_at_the_end) {
  { add(*std::make_unique<MetricLog>(directory().string()), {1}); }
  EXPECT_THAT(lines(), SizeIs(1));
}

TEST_F(MetricLogTest, a_file_that_is_there_is_appended_to) {
  for (int i = 0; i < 2; ++i) {
    MetricLog log(directory().string());
    add(log, {1}, i);
  }
  EXPECT_THAT(lines(), SizeIs(2));
}

TEST_F(MetricLogTest, any_tensor_name_makes_a_line) {
  const double value = 1;
  MetricLog log(directory().string());
  log.add("a\"b\n\xff", Mode::Eval, 0, TensorView(&value, {}));
  log.flush();
  ASSERT_THAT(lines(), SizeIs(1));
  EXPECT_EQ(lines()[0].at("MetricName"), "a\"b\n\xef\xbf\xbd_EVAL");
}

TEST_F(MetricLogTest, text_and_views_that_cannot_be_saved_are_passed_over) {
  const std::string text = "x";
  MetricLog log(directory().string());
  log.add("t", Mode::Train, 0, TensorView(&text, DType::Utf8, {}));
  log.add("t", Mode::Train, 0, TensorView(nullptr, DType::F32, {4}));
  log.flush();
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(MetricLogTest, a_failure_is_one_warning_and_then_silence) {
  scratch_.add_to_file("deep", "a file where a directory should be");
  MetricLog log(directory().string());
  for (int i = 0; i < 3; ++i) {
    add(log, {1});
    log.flush();
  }
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_EQ(log_.lines()[0].first, LogLevel::Warning);
  EXPECT_THAT(log_.lines()[0].second, HasSubstr("deep/metrics"));
}

TEST_F(MetricLogTest, a_pipe_or_link_of_the_files_name_does_not_hold_training_up) {
  std::filesystem::create_directories(directory());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  MetricLog log(directory().string());
  add(log, {1});
  log.flush();
  EXPECT_THAT(log_.lines(), SizeIs(1));

  std::filesystem::remove(file());
  std::filesystem::create_symlink(scratch_ / "elsewhere", file());
  MetricLog other(directory().string());
  add(other, {1});
  other.flush();
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "elsewhere"));
}

TEST_F(MetricLogTest, lines_that_nobody_flushes_end_at_a_bound) {
  const double value = 1;
  const std::string name(1U << 20U, 'n');
  MetricLog log(directory().string());
  for (int i = 0; i < 40; ++i) log.add(name, Mode::Train, i, TensorView(&value, {}));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(MetricLogTest, threads_lose_no_line_and_mix_none) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  MetricLog log(directory().string());
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < kEach; ++i) {
        add(log, {1, 2}, i);
        if (i % 10 == 0) log.flush();
      }
    });
  }
  threads.clear();
  log.flush();
  EXPECT_THAT(lines(), SizeIs(kThreads * kEach));
}

TEST_F(MetricLogTest, the_environment_names_the_directory) {
  testing::EnvironmentGuard environment;
  environment.unset("SAGEMAKER_METRICS_DIRECTORY");
  EXPECT_EQ(MetricLog::from_environment(), nullptr);
  environment.set("SAGEMAKER_METRICS_DIRECTORY", "");
  EXPECT_EQ(MetricLog::from_environment(), nullptr);
  environment.set("SAGEMAKER_METRICS_DIRECTORY", directory().string());
  add(*MetricLog::from_environment(), {1});
  EXPECT_THAT(lines(), SizeIs(1));
}

}  // namespace
}  // namespace cupel
