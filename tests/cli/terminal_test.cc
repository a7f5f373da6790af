#include "terminal.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.h"
#include "colour.h"
#include "wrapped_lines.h"

namespace cupel::command_detail {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A variable of the environment, until the end of a test; without a value it is not there.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = ::getenv(name)) before_ = before;
    if (value != nullptr)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~Variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A terminal of 61 columns that shows colours.
class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = 61;
    EXPECT_EQ(::openpty(&master_, &slave_, nullptr, nullptr, &size), 0);
  }
  ~TerminalTest() override {
    ::close(master_);
    ::close(slave_);
  }

  int master_ = -1, slave_ = -1;
  Variable columns_{"COLUMNS", nullptr};
  Variable kind_{"TERM", "xterm"};
  Variable no_colour_{"NO_COLOR", nullptr};
};

TEST_F(TerminalTest, has_the_columns_of_its_window) {
  EXPECT_EQ(terminal_at(slave_).columns, 61U);
  EXPECT_TRUE(terminal_at(slave_).colour);
}

TEST_F(TerminalTest, has_the_columns_that_the_environment_says) {
  const Variable columns("COLUMNS", "47");
  EXPECT_EQ(terminal_at(slave_).columns, 47U);
  const Variable no_number("COLUMNS", "47x");
  EXPECT_EQ(terminal_at(slave_).columns, 61U);
}

TEST_F(TerminalTest, of_few_columns_is_taken_for_a_wider_one) {
  const Variable columns("COLUMNS", "3");
  EXPECT_EQ(terminal_at(slave_).columns, 20U);
}

TEST_F(TerminalTest, has_no_colours_where_the_environment_forbids_them) {
  {
    const Variable no_colour("NO_COLOR", "1");
    EXPECT_FALSE(terminal_at(slave_).colour);
  }
  {
    const Variable empty("NO_COLOR", "");
    EXPECT_TRUE(terminal_at(slave_).colour);
  }
  const Variable dumb("TERM", "dumb");
  EXPECT_FALSE(terminal_at(slave_).colour);
}

TEST_F(TerminalTest, is_no_pipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(terminal_at(ends[1]).columns, 0U);
  EXPECT_FALSE(terminal_at(ends[1]).colour);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Colours, are_for_streams_of_terminals_that_show_them) {
  std::ostringstream out;
  EXPECT_EQ(painted(out, Colour::Alarm, "text"), "text");
  set_terminal(out, {.colour = true});
  EXPECT_EQ(painted(out, Colour::Alarm, "text"), "\x1b[1;31mtext\x1b[0m");
  EXPECT_EQ(painted(out, Colour::None, "text"), "text");
}

TEST(Colours, mark_the_rule_in_each_line_of_what_fired) {
  std::ostringstream out;
  set_terminal(out, {.colour = true});
  VerdictLine line;
  line.rule = line.name = "Rule";
  line.step = 3;
  line.tensors = {{.tensor = "a", .worker = "w", .message = "Rule 1"},
                  {.tensor = "b", .worker = "w", .message = "2"}};
  EXPECT_EQ(painted_text(out, line),
            "step 3 GLOBAL  \x1b[1;31mRule\x1b[0m  a  Rule 1\n"
            "step 3 GLOBAL  \x1b[1;31mRule\x1b[0m  b  2");
  line.status = RuleStatus::Explained;
  EXPECT_EQ(painted_text(out, line).find('\x1b'), std::string::npos);
}

TEST(Wrapped, line_that_fits_stays_as_it_is) {
  EXPECT_EQ(wrapped("one  two three", 14), "one  two three\n");
  EXPECT_EQ(wrapped("", 14), "\n");
  EXPECT_EQ(wrapped("as wide as it is", 0), "as wide as it is\n");
}

TEST(Wrapped, line_goes_on_indented_by_two_more) {
  EXPECT_EQ(wrapped("  one two three four", 12), "  one two\n    three\n    four\n");
}

TEST(Wrapped, line_of_columns_goes_on_below_the_last_one_on_the_left) {
  EXPECT_EQ(
      wrapped("step 120 TRAIN  VanishingGradient  gradient/fc1.weight  abs_mean 3.1e-09 < 1e-07",
              60),
      "step 120 TRAIN  VanishingGradient  gradient/fc1.weight\n"
      "                abs_mean 3.1e-09 < 1e-07\n");
}

TEST(Wrapped, line_keeps_long_words_whole) {
  EXPECT_EQ(wrapped("a {\"as long\":as-it-may-be} b", 12), "a {\"as long\":as-it-may-be}\n  b\n");
  EXPECT_EQ(wrapped("aaaaaaaaaaaaaaaaaaaa bb cc dd", 12), "aaaaaaaaaaaaaaaaaaaa\n  bb cc dd\n");
}

TEST(Wrapped, line_of_a_command_stays_whole) {
  EXPECT_EQ(wrapped("  cupel info runs/mnist", 12), "  cupel info runs/mnist\n");
  EXPECT_EQ(wrapped("cupel info: no run", 12), "cupel info:\n  no run\n");
}

class ColouredCommand : public ::cupel::testing::CliTest {
 protected:
  // What a watch that finds something prints on a terminal with colours.
  std::string watch(const std::vector<std::string>& more = {}) {
    testing::WorkerWriter(store_).save(0, {testing::raw("w", {HUGE_VALF})}).finish();
    std::ostringstream out, err;
    set_terminal(out, {.colour = true});
    std::vector<std::string> arguments = {"watch", path(), "--rule", "ExplodingTensor"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run_cli(arguments, out, err), kExitFound) << err.str();
    return out.str();
  }
};

TEST_F(ColouredCommand, watch_marks_what_fired) {
  const std::string out = watch();
  EXPECT_THAT(out, HasSubstr("step 0 TRAIN  \x1b[1;31mExplodingTensor\x1b[0m  "));
  EXPECT_THAT(out, HasSubstr("\nExplodingTensor  \x1b[1;31mIssuesFound\x1b[0m           0  "));
}

TEST_F(ColouredCommand, json_has_no_colours) {
  EXPECT_THAT(watch({"--json"}), Not(HasSubstr("\x1b")));
}

TEST(Wrapped, line_does_not_count_colours) {
  EXPECT_EQ(wrapped("\x1b[1;31mone\x1b[0m two", 7), "\x1b[1;31mone\x1b[0m two\n");
}

TEST(WrappedLines, wrap_the_lines_of_a_stream_at_its_columns) {
  std::ostringstream out;
  std::ostream stream(out.rdbuf());
  set_terminal(stream, {.columns = 20});
  const WrappedLines wrapping(stream, "cupel");
  stream << "one two three "
         << "four five\n"
         << std::flush;
  {
    const TerminalScope to_be_copied(stream, {});
    stream << "one two three four five\n";
  }
  stream << "end" << std::flush;
  EXPECT_EQ(out.str(), "one two three four\n  five\none two three four five\nend");
}

TEST(WrappedLines, leave_alone_what_is_drawn_over) {
  std::ostringstream out;
  std::ostream stream(out.rdbuf());
  set_terminal(stream, {.columns = 20});
  const WrappedLines wrapping(stream, "cupel");
  stream << "\rone two three four five\x1b[K" << std::flush << "\r\x1b[K" << std::flush
         << "one two three four five\n"
         << std::flush;
  EXPECT_EQ(out.str(), "\rone two three four five\x1b[K\r\x1b[Kone two three four\n  five\n");
}

}  // namespace
}  // namespace cupel::command_detail
