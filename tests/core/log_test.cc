#include "cupel/core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "core/log_capture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// What all four levels print on standard error when the two variables are set so (null: not at
/// all).
std::string printed(const char* ours, const char* theirs = nullptr) {
  const auto put = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  put("CUPEL_LOG_LEVEL", ours);
  put("SMDEBUG_LOG_LEVEL", theirs);
  set_log_sink({});
  ::testing::internal::CaptureStderr();
  log(LogLevel::Debug, "a debug line");
  log(LogLevel::Info, "an info line");
  log(LogLevel::Warning, "a warning line");
  log(LogLevel::Error, "an error line");
  put("CUPEL_LOG_LEVEL", nullptr);
  put("SMDEBUG_LOG_LEVEL", nullptr);
  set_log_sink({});
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, warnings_and_errors_are_printed_by_default) {
  EXPECT_THAT(printed(nullptr), AllOf(HasSubstr("a warning line"), HasSubstr("an error line"),
                                      Not(HasSubstr("an info line"))));
  EXPECT_THAT(printed("nonsense"), AllOf(HasSubstr("a warning"), Not(HasSubstr("an info"))));
}

TEST(Log, the_level_comes_from_the_environment) {
  EXPECT_THAT(printed("debug"), AllOf(HasSubstr("a debug line"), HasSubstr("an error line")));
  EXPECT_THAT(printed("INFO"), AllOf(HasSubstr("an info line"), Not(HasSubstr("a debug line"))));
  EXPECT_THAT(printed("error"), AllOf(HasSubstr("an error line"), Not(HasSubstr("a warning"))));
  EXPECT_THAT(printed("off"), IsEmpty());
}

TEST(Log, the_ported_variable_counts_where_ours_is_not_set) {
  EXPECT_THAT(printed(nullptr, "error"), Not(HasSubstr("a warning line")));
  EXPECT_THAT(printed("info", "off"), HasSubstr("an info line"));
}

TEST(Log, braces_in_a_message_are_text) {
  set_log_sink({});
  ::testing::internal::CaptureStderr();
  log(LogLevel::Error, "{} {0} {");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("{} {0} {"));
}

TEST(Log, a_sink_receives_level_and_message) {
  const testing::LogCapture capture;
  log(LogLevel::Debug, "one");
  log(LogLevel::Error, "two");
  using Line = std::pair<LogLevel, std::string>;
  EXPECT_THAT(capture.lines(),
              ::testing::ElementsAre(Line(LogLevel::Debug, "one"), Line(LogLevel::Error, "two")));
}

TEST(Log, a_sink_that_throws_or_logs_does_no_harm) {
  int calls = 0;
  set_log_sink([&](LogLevel, std::string_view) {
    ++calls;
    log(LogLevel::Error, "from within");
    throw std::runtime_error("no");
  });
  log(LogLevel::Info, "one");
  log(LogLevel::Info, "two");
  set_log_sink({});
  EXPECT_EQ(calls, 2);
}

TEST(Log, a_sink_is_called_by_one_thread_at_a_time) {
  int calls = 0;  // not atomic: a second caller beside the first would be a data race
  set_log_sink([&](LogLevel, std::string_view) { ++calls; });
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int k = 0; k < 500; ++k) log(LogLevel::Info, "line");
      });
  }
  set_log_sink({});
  EXPECT_EQ(calls, 2000);
}

}  // namespace
}  // namespace cupel
