#include "progress.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace cupel::command_detail {
namespace {

using namespace std::chrono_literals;

class ProgressLine : public ::testing::Test {
 protected:
  Progress::Terminal terminal(int columns = 80) {
    return {.out = &screen_, .columns = columns, .now = [this] { return now_; }};
  }
  std::string drawn() {
    std::string text = screen_.str();
    screen_.str("");
    return text;
  }
  std::ostringstream screen_;
  Progress::Clock::time_point now_{};
};

TEST_F(ProgressLine, is_shown_after_a_second_and_wiped_at_the_end) {
  {
    Progress progress("reading", Progress::Unit::Count, terminal());
    now_ += 999ms;
    progress(1, 8);
    EXPECT_EQ(drawn(), "");
    now_ += 1ms;
    progress(3, 8);
    EXPECT_EQ(drawn(), "\rreading  [███████▌            ]   37 %  3 of 8\x1b[K\r");
  }
  EXPECT_EQ(drawn(), "\r\x1b[K");
}

TEST_F(ProgressLine, is_redrawn_at_most_ten_times_a_second) {
  Progress progress("reading", Progress::Unit::Bytes, terminal());
  now_ += 2s;
  progress(0, 2048);
  EXPECT_EQ(drawn(), "\rreading  [                    ]    0 %  0 bytes of 2.0 KiB\x1b[K\r");
  now_ += 99ms;
  progress(2048, 2048);
  EXPECT_EQ(drawn(), "");
  now_ += 1ms;
  progress(2048, 2048);
  EXPECT_EQ(drawn(), "\rreading  [████████████████████]  100 %  2.0 KiB of 2.0 KiB\x1b[K\r");
}

TEST_F(ProgressLine, is_never_longer_than_the_screen) {
  Progress progress("reading values", Progress::Unit::Bytes, terminal(50));
  now_ += 2s;
  progress(1024, 4096);
  EXPECT_EQ(drawn(), "\rreading values  [█████               ]   25 %\x1b[K\r");
  Progress narrow("reading values", Progress::Unit::Bytes, terminal(20));
  now_ += 2s;
  narrow(1, 4);
  EXPECT_EQ(drawn(), "\rreading va   25 %\x1b[K\r");
}

TEST_F(ProgressLine, of_an_unknown_or_exceeded_total_stays_a_line) {
  Progress progress("reading", Progress::Unit::Count, terminal());
  now_ += 2s;
  progress(0, 0);
  EXPECT_EQ(drawn(), "\rreading  [                    ]    0 %  0 of 0\x1b[K\r");
  now_ += 2s;
  progress(9, 8);
  EXPECT_EQ(drawn(), "\rreading  [████████████████████]  100 %  8 of 8\x1b[K\r");
}

TEST_F(ProgressLine, says_nothing_without_a_terminal) {
  Progress progress("reading", Progress::Unit::Count, {.now = [this] { return now_; }});
  now_ += 5s;
  progress(1, 2);
  progress.wipe();
  EXPECT_EQ(drawn(), "");
}

}  // namespace
}  // namespace cupel::command_detail
