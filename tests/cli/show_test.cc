#include <gmock/gmock.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "cli/cli_fixture.h"
#include "terminal.h"
#include "text_width.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::string bytes_in(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// "loss" and "w" at the steps 0, 10 … 40: even ones of TRAIN, whose own number is half of it.
class ShowCommand : public CliTest {
 protected:
  void save_run() {
    WorkerWriter writer(store_);
    for (std::int64_t step = 0; step < 50; step += 10) {
      const auto number = static_cast<float>(step);
      writer.save({step, Mode::Train, step / 2},
                  {scalar("loss", 1. / static_cast<double>(1 + step)),
                   raw("w", {number, number + 1, number + 2})});
    }
    writer.finish();
  }
  Ran show(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"show", path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::vector<std::int64_t> steps(std::vector<std::string> more) const {
    more.insert(more.begin(), "loss");
    more.emplace_back("--json");
    std::vector<std::int64_t> steps;
    for (const Json& line : show(more).json_lines()) steps.push_back(line["step"]);
    return steps;
  }
  void expect_usage_error(const std::vector<std::string>& more, const std::string& message) const {
    const Ran ran = show(more);
    EXPECT_EQ(ran.code, kExitError);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
};

TEST_F(ShowCommand, a_range_holds_its_start_and_not_its_end) {
  save_run();
  EXPECT_THAT(steps({"--start-step", "10", "--end-step", "40"}), ElementsAre(10, 20, 30));
  EXPECT_THAT(steps({"--start-step", "31"}), ElementsAre(40));
  EXPECT_THAT(steps({"--end-step", "1"}), ElementsAre(0));
}

TEST_F(ShowCommand, a_range_counts_steps_of_the_mode) {
  save_run();
  EXPECT_THAT(steps({"--mode", "train", "--start-step", "10", "--end-step", "15"}),
              ElementsAre(20));
}

TEST_F(ShowCommand, the_last_steps_are_those_of_the_range) {
  save_run();
  EXPECT_THAT(steps({"--last", "2"}), ElementsAre(30, 40));
  EXPECT_THAT(steps({"--last", "2", "--end-step", "30"}), ElementsAre(10, 20));
  EXPECT_THAT(steps({"--last", "100"}), ElementsAre(0, 10, 20, 30, 40));
}

TEST_F(ShowCommand, an_empty_range_is_told) {
  save_run();
  Ran ran = show({"loss", "--start-step", "41"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("not saved in this range; it was from step 0 to 40"));
  ran = show({"loss", "--start-step", "20", "--end-step", "20", "--plot"});
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("from 20 to before 20 is empty"));
}

TEST_F(ShowCommand, what_excludes_each_other_is_a_usage_error) {
  save_run();
  for (const char* range : {"--start-step", "--end-step", "--last"})
    expect_usage_error({"loss", "--step", "10", range, "5"}, "exclude each other");
  expect_usage_error({"loss", "--plot", "--step", "10"}, "exclude each other");
  expect_usage_error({"loss", "--plot", "--histogram"}, "exclude each other");
  expect_usage_error({"loss", "--plot", "--json"}, "exclude each other");
  expect_usage_error({"loss", "--histogram", "--reduction", "max"}, "exclude each other");
  expect_usage_error({"loss", "--plot", "--last", "1", "--npy", "x"}, "exclude each other");
  expect_usage_error({"loss", "--log"}, "a scale of --plot");
}

TEST_F(ShowCommand, a_table_that_is_too_wide_says_once_what_is_the_same_at_every_step) {
  WorkerWriter writer(store_);
  for (const std::int64_t step : {0, 10})
    writer.save(step, {reduced("g", "mean", 0.001234567)
                           .with("std", 1234567)
                           .with("max", 3)
                           .with("min", -1e-300)
                           .with("l2", 0)});
  writer.finish();
  EXPECT_EQ(show({"g"}).out,
            "TRAIN  worker_0  f32  4 elements\n"
            "STEP      min  max        mean          std  l2\n"
            "   0  -1e-300    3  0.00123457  1.23457e+06   0\n"
            "  10  -1e-300    3  0.00123457  1.23457e+06   0\n");
  EXPECT_THAT(show({"g", "--width", "100"}).out,
              StartsWith("STEP  MODE   MODE STEP  WORKER    DTYPE  SHAPE           min  max"));
}

TEST_F(ShowCommand, reductions_without_room_are_named_and_those_asked_for_stay) {
  WorkerWriter writer(store_);
  SavedTensor tensor = reduced("g", "mean", 0.001234567);
  for (std::size_t i = 0; i < Reduction::kCount; ++i)
    tensor.reductions.put(Reduction::at(i), 0.001234567);
  writer.save(0, {tensor});
  writer.finish();
  Ran ran = show({"g"});
  EXPECT_THAT(ran.out, HasSubstr("abs_mean"));
  EXPECT_THAT(ran.out, Not(HasSubstr("prod")));
  EXPECT_THAT(ran.err, HasSubstr("no room for"));
  EXPECT_THAT(ran.err, HasSubstr("prod"));
  EXPECT_THAT(ran.err, Not(HasSubstr("abs_mean")));
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), 80U) << line;

  ran = show({"g", "--reduction", "prod", "--reduction", "abs_mean"});
  EXPECT_THAT(ran.out, HasSubstr("prod    abs_mean"));
  EXPECT_EQ(ran.err, "");
}

TEST_F(ShowCommand, a_table_counts_what_is_not_finite_where_there_is_any) {
  WorkerWriter writer(store_);
  writer.save(0, {reduced("g", "mean", 1).with(ValueCounts{})});
  writer.save(1, {reduced("g", "mean", kNotANumber).with(ValueCounts{.nan = 3, .neg_inf = 1})});
  writer.finish();
  EXPECT_EQ(show({"g"}).out,
            "STEP  MODE   MODE STEP  WORKER    DTYPE  SHAPE       mean  NaN  -inf\n"
            "   0  TRAIN          0  worker_0  f32    4 elements     1    0     0\n"
            "   1  TRAIN          1  worker_0  f32    4 elements   NaN    3     1\n");
}

TEST_F(ShowCommand, steps_that_lack_a_reduction_have_a_dash) {
  WorkerWriter writer(store_);
  writer.save(0, {raw("g", {1, 2})});
  writer.save(1, {reduced("g", "mean", 7)});
  writer.finish();
  EXPECT_THAT(show({"g", "--reduction", "max"}).out, HasSubstr("4 elements  -\n"));
  EXPECT_THAT(show({"g"}).out, HasSubstr("(2)            -  saved\n"));
  EXPECT_THAT(show({"g"}).out, HasSubstr("4 elements     7  -\n"));
}

TEST_F(ShowCommand, json_has_every_reduction_asked_for) {
  save_run();
  const Ran ran = show({"w", "--last", "1", "--reduction", "max", "--reduction", "min", "--json"});
  EXPECT_EQ(ran.json()["reductions"], Json({{"max", 42.}, {"min", 40.}}));
}

TEST_F(ShowCommand, plots_a_scalar_over_its_steps) {
  save_run();
  const Ran ran = show({"loss", "--plot", "--mode", "train"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("loss  value  TRAIN\n  1 ┤⠑"));
  EXPECT_THAT(ran.out, HasSubstr(" 20\n"));  // the last step of the mode
  EXPECT_THAT(ran.out, EndsWith("\nleast 0.0243902 at step 20, greatest 1 at step 0\n"));
}

TEST_F(ShowCommand, plots_one_reduction_under_the_other) {
  save_run();
  const Ran ran = show({"w", "--plot", "--reduction", "max", "--reduction", "mean"});
  EXPECT_THAT(ran.out, StartsWith("w  max\n40 ┤"));
  EXPECT_THAT(ran.out, HasSubstr("\n\nw  mean\n40 ┤"));
}

TEST_F(ShowCommand, plots_what_was_saved_or_the_magnitude_of_values) {
  save_run();
  EXPECT_THAT(show({"w", "--plot"}).out, StartsWith("w  abs_mean\n"));
  WorkerWriter writer(store_, {.attempt = 1});
  writer.save(50, {reduced("g", "max", 2)});
  writer.finish();
  EXPECT_THAT(show({"g", "--plot"}).out, StartsWith("g  max\n"));
}

TEST_F(ShowCommand, a_plot_says_how_many_steps_lack_the_reduction) {
  WorkerWriter writer(store_);
  writer.save(0, {reduced("g", "mean", 7)});
  writer.save(1, {reduced("g", "max", 7)});
  writer.finish();
  EXPECT_THAT(show({"g", "--plot", "--reduction", "max"}).err, HasSubstr("at 1 of 2 steps"));
  const Ran ran = show({"g", "--plot", "--reduction", "std"});
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("there is no std to plot"));
}

TEST_F(ShowCommand, a_logarithmic_plot_marks_what_is_not_above_0) {
  save_run();
  EXPECT_THAT(show({"loss", "--plot", "--log"}).out, StartsWith("loss  value  logarithmic\n"));
  const Ran ran = show({"w", "--plot", "--reduction", "min", "--log"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, HasSubstr("\n 0 │×\n"));  // step 0
}

TEST_F(ShowCommand, is_as_wide_as_the_terminal) {
  save_run();
  for (const std::size_t columns : {40U, 60U, 80U, 200U}) {
    for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
             {"loss"},
             {"loss", "--plot"},
             {"w", "--histogram"},
             {"w", "--reduction", "max", "--reduction", "min", "--reduction", "variance"}}) {
      std::ostringstream out, err;
      set_terminal(out, {.columns = columns});
      std::vector<std::string> arguments = {"show", path()};
      arguments.insert(arguments.end(), options.begin(), options.end());
      EXPECT_EQ(run_cli(arguments, out, err), kExitFine) << err.str();
      std::istringstream lines(out.str());
      std::size_t widest = 0;
      for (std::string line; std::getline(lines, line);)
        widest = std::max(widest, text_width(line));
      EXPECT_LE(widest, columns) << out.str();
      if (options.back() == "--plot") {
        EXPECT_EQ(widest, columns) << out.str();
      }
    }
  }
}

TEST_F(ShowCommand, json_is_neither_broken_nor_coloured) {
  save_run();
  std::ostringstream out, err;
  set_terminal(out, {.columns = 20, .colour = true});
  EXPECT_EQ(run_cli({"show", path(), "loss", "--json"}, out, err), kExitFine);
  EXPECT_EQ(out.str(), show({"loss", "--json"}).out);
  EXPECT_EQ(terminal_of(out).columns, 0U);  // nor would it be by who writes to the terminal
}

TEST_F(ShowCommand, a_histogram_has_a_line_for_each_step) {
  save_run();
  const Ran ran = show({"w", "--histogram"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, StartsWith("w  5 steps  f32 (3)\nSTEP  MIN  MAX\n   0    0    2  █"));
  EXPECT_THAT(ran.out, HasSubstr("\n  40   40   42  "));
  EXPECT_EQ(ran.err, "");
}

TEST_F(ShowCommand, a_histogram_of_many_steps_has_twenty_and_both_ends) {
  WorkerWriter writer(store_);
  for (std::int64_t step = 0; step < 100; ++step) writer.save(step, {raw("w", {1, 2})});
  writer.finish();
  const std::string out = show({"w", "--histogram"}).out;
  EXPECT_THAT(out, StartsWith("w  20 of 100 steps"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 24);
  EXPECT_THAT(out, HasSubstr("\n   0    1    2"));
  EXPECT_THAT(out, HasSubstr("\n  99    1    2"));
  EXPECT_EQ(show({"w", "--histogram", "--json"}).json_lines().size(), 100U);
}

TEST_F(ShowCommand, a_histogram_of_many_steps_has_those_that_stand_out) {
  WorkerWriter writer(store_);
  for (std::int64_t step = 0; step < 100; ++step) {
    const bool is_odd = step == 43;
    writer.save(step, {raw("w", {1, is_odd ? 9.F : 2.F}).with("max", is_odd ? 9 : 2)});
  }
  writer.finish();
  EXPECT_THAT(show({"w", "--histogram"}).out, HasSubstr("\n  43    1    9"));
}

TEST_F(ShowCommand, a_histogram_counts_outliers_which_json_has_in_its_bins) {
  WorkerWriter writer(store_);
  for (const std::int64_t step : {0, 1})
    writer.save(step, {raw("w", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1e6F})});
  writer.finish();
  const std::string out = show({"w", "--histogram"}).out;
  EXPECT_THAT(out, HasSubstr("STEP  MIN    MAX  ABOVE\n   0    0  1e+06      1  █"));
  const Json line = show({"w", "--histogram", "--json"}).json_lines().front();
  EXPECT_EQ(line["edges"].back(), 1e6);
}

TEST_F(ShowCommand, a_histogram_of_one_step_has_a_line_for_each_bin) {
  WorkerWriter writer(store_);
  writer.save(3, {raw_of<std::int32_t>("n", {1, 1, 3})});
  writer.finish();
  EXPECT_THAT(show({"n", "--histogram", "--step", "3", "--width", "40"}).out,
              StartsWith("n  step 3  i32 (3)\nVALUE  ELEMENTS\n    1         2  █"));
}

TEST_F(ShowCommand, a_histogram_as_json_has_edges_and_counts) {
  WorkerWriter writer(store_);
  writer.save(0, {raw_of<std::int32_t>("n", {1, 1, 3})});
  writer.save(1, {raw_of<std::int32_t>("n", {})});
  writer.finish();
  const auto lines = show({"n", "--histogram", "--json"}).json_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].dump(),
            R"({"tensor":"n","step":0,"mode":"TRAIN","mode_step":0,"worker":"worker_0",)"
            R"("dtype":"i32","shape":[3],"edges":[0.5,1.5,2.5,3.5],"counts":[2,0,1],)"
            R"("nan":0,"pos_inf":0,"neg_inf":0})");
  EXPECT_EQ(lines[1]["counts"], Json({0, 0, 0}));
}

TEST_F(ShowCommand, a_histogram_takes_raw_values) {
  WorkerWriter writer(store_);
  writer.save(0, {raw("g", {1, 2}), texts("t", {"a", "b"}), only_shape("s", {2})});
  writer.save(7, {reduced("g", "mean", 7)});
  writer.finish();
  EXPECT_THAT(show({"g", "--histogram"}).err,
              HasSubstr("left out, saved without raw values: step 7\n"));
  expect_usage_error({"s", "--histogram"}, "none was saved of s at step 0");
  expect_usage_error({"t", "--histogram"}, "text has no histogram");
}

TEST_F(ShowCommand, a_range_is_one_numpy_array_with_an_axis_of_steps) {
  save_run();
  const Ran ran = show({"w", "--last", "2", "--npy", file("w.npy")});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.err, HasSubstr("f32 (2, 3), steps 30, 40\n"));
  const std::string bytes = bytes_in(file("w.npy"));
  EXPECT_THAT(bytes, HasSubstr("'shape': (2, 3)"));
  ASSERT_EQ(bytes.size(), 128U + 24U);
  float numbers[6];
  std::memcpy(numbers, bytes.data() + 128, sizeof numbers);
  EXPECT_THAT(numbers, ElementsAre(30, 31, 32, 40, 41, 42));
}

TEST_F(ShowCommand, scalars_of_a_range_are_an_array_of_one_axis) {
  save_run();
  show({"loss", "--start-step", "0", "--npy", file("loss.npy")});
  EXPECT_THAT(bytes_in(file("loss.npy")), HasSubstr("'shape': (5,)"));
}

TEST_F(ShowCommand, values_of_several_shapes_are_no_array) {
  WorkerWriter writer(store_);
  writer.save(0, {raw("w", {1, 2})});
  writer.save(7, {raw("w", {1, 2, 3})});
  writer.finish();
  expect_usage_error({"w", "--last", "9", "--npy", file("w.npy")},
                     "f32 (2) at step 0, but f32 (3) at step 7");
  expect_usage_error({"w", "--start-step", "8", "--npy", file("w.npy")}, "nothing to write");
  EXPECT_FALSE(std::filesystem::exists(file("w.npy")));
}

TEST_F(ShowCommand, a_link_that_was_planted_beside_the_file_is_not_written_through) {
  WorkerWriter writer(store_);
  writer.save(0, {raw("w", {1, 2})});
  writer.finish();
  std::ofstream(file("victim")) << "untouched";
  std::filesystem::create_symlink(file("victim"),
                                  file("w.npy.partial-" + std::to_string(::getpid())));
  show({"w", "--last", "2", "--npy", file("w.npy")});
  EXPECT_EQ(bytes_in(file("victim")), "untouched");
  EXPECT_FALSE(bytes_in(file("w.npy")).empty());
}

TEST_F(ShowCommand, a_failed_numpy_file_leaves_what_was_there) {
  WorkerWriter writer(store_);
  writer.save(0, {filled("w", 20, 1)}).save(1, {filled("w", 20, 1)}).seal();
  writer.finish();
  const std::string events = "events/0000-000000000/000000000000_worker_0.arrow";
  auto bytes = *store_.get(events);
  for (std::byte& byte : bytes) byte ^= std::byte{1};
  store_.put(events, bytes);
  std::ofstream(file("w.npy")) << "before";
  const Ran ran = show({"w", "--last", "2", "--npy", file("w.npy")});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(bytes_in(file("w.npy")), "before");
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / ""))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("partial")));
}

TEST_F(ShowCommand, a_numpy_file_is_written_through_a_link_and_into_a_device) {
  save_run();
  std::ofstream(file("target.npy")) << "before";
  std::filesystem::create_symlink(file("target.npy"), file("link.npy"));
  show({"w", "--step", "10", "--npy", file("link.npy")});
  EXPECT_TRUE(std::filesystem::is_symlink(file("link.npy")));
  EXPECT_THAT(bytes_in(file("target.npy")), HasSubstr("NUMPY"));
  EXPECT_EQ(show({"w", "--step", "10", "--npy", "/dev/null"}).code, kExitFine);
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

TEST_F(ShowCommand, a_numpy_file_goes_behind_what_an_open_file_holds) {
  save_run();
  // As a shell does for /dev/stdout >> file.
  std::ofstream(file("open")) << "before";
  const int open_file = ::open(file("open").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  show({"w", "--step", "10", "--npy", "/dev/fd/" + std::to_string(open_file)});
  ::close(open_file);
  EXPECT_THAT(bytes_in(file("open")), AllOf(StartsWith("before"), HasSubstr("NUMPY")));
}

TEST_F(ShowCommand, a_numpy_file_keeps_the_permissions_of_the_one_it_replaces) {
  using std::filesystem::perms;
  save_run();
  std::ofstream(file("w.npy")) << "before";
  std::filesystem::permissions(file("w.npy"), perms::owner_read | perms::owner_write);
  show({"w", "--step", "10", "--npy", file("w.npy")});
  EXPECT_EQ(std::filesystem::status(file("w.npy")).permissions(),
            perms::owner_read | perms::owner_write);
  std::filesystem::create_symlink(file("later.npy"), file("link.npy"));
  show({"w", "--step", "10", "--npy", file("link.npy")});
  EXPECT_TRUE(std::filesystem::is_symlink(file("link.npy")));
  EXPECT_TRUE(std::filesystem::exists(file("later.npy")));
}

TEST_F(ShowCommand, values_without_a_saved_shape_lie_in_one_row_of_the_array) {
  WorkerWriter writer(store_);
  writer.save(0, {raw("w", {1, 2}).shapeless()}).save(1, {raw("w", {3, 4}).shapeless()});
  writer.finish();
  show({"w", "--last", "2", "--npy", file("w.npy")});
  EXPECT_THAT(bytes_in(file("w.npy")), HasSubstr("'shape': (2, 2)"));
}

TEST_F(ShowCommand, an_empty_tensor_is_shown_with_its_shape) {
  WorkerWriter writer(store_);
  writer.save(0, {raw("w", {}).shaped({1'000'000'000'000, 0}), raw("v", {}).shaped({2, 0})});
  writer.finish();
  EXPECT_THAT(show({"w", "--step", "0"}).out, HasSubstr("\n[]  shape (1000000000000, 0)\n"));
  EXPECT_EQ(show({"v", "--step", "0", "--json"}).json()["value"], Json::parse("[[],[]]"));
  expect_usage_error({"w", "--step", "0", "--json"}, "shape (1000000000000, 0) has too many lists");
  EXPECT_EQ(show({"w", "--step", "0", "--npy", file("w.npy")}).code, kExitFine);
  EXPECT_THAT(bytes_in(file("w.npy")), HasSubstr("'shape': (1000000000000, 0)"));
}

}  // namespace
}  // namespace cupel::testing
