#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "cli/cli_fixture.h"
#include "cupel/core/error.h"
#include "cupel/writer/hook.h"
#include "npy_file.h"
#include "terminal.h"
#include "value_text.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr float kNaNValue = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
TensorValue value_of(const std::vector<T>& elements, const Shape& shape) {
  auto bytes = std::make_shared<AlignedBuffer>(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(bytes->data(), elements.data(), bytes->size());
  return {kDTypeOf<T>, shape, std::move(bytes), "test", 0};
}

std::string readable(const TensorValue& value) {
  std::ostringstream out;
  print_readable(out, value);
  return out.str();
}
std::string as_json(const TensorValue& value) {
  std::ostringstream out;
  print_json(out, value);
  return out.str();
}

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ValueText, json_has_nested_lists) {
  EXPECT_EQ(as_json(value_of<float>({1, 2.5F, -3, 0.1F}, {2, 2})), "[[1.0,2.5],[-3.0,0.1]]");
  EXPECT_EQ(as_json(value_of<double>({0.71}, {})), "0.71");
  EXPECT_EQ(as_json(value_of<float>({}, {0})), "[]");
  EXPECT_EQ(as_json(value_of<float>({}, {2, 0})), "[[],[]]");
  EXPECT_EQ(as_json(value_of<float>({}, {0, 1'000'000'000'000})), "[]");
}

TEST(ValueText, json_of_an_empty_tensor_is_bounded) {
  EXPECT_EQ(as_json(value_of<float>({}, {1'000'000, 0})).size(), 3'000'001U);
  EXPECT_THROW(as_json(value_of<float>({}, {1'000'001, 0})), Error);
  EXPECT_THROW(as_json(value_of<float>({}, {1 << 30, 1 << 30, 1 << 30, 0})), Error);
}

TEST(ValueText, people_read_the_shape_of_what_is_empty) {
  EXPECT_EQ(readable(value_of<float>({}, {1'000'000'000'000, 0})),
            "[]  shape (1000000000000, 0)\n");
  EXPECT_EQ(readable(value_of<float>({}, {2, 0})), "[]  shape (2, 0)\n");
}

TEST(ValueText, json_keeps_every_integer_exact) {
  EXPECT_EQ(as_json(value_of<std::int64_t>({std::numeric_limits<std::int64_t>::min()}, {1})),
            "[-9223372036854775808]");
  EXPECT_EQ(as_json(value_of<std::uint64_t>({std::numeric_limits<std::uint64_t>::max()}, {})),
            "18446744073709551615");
  EXPECT_EQ(as_json(value_of<std::int8_t>({-5, 7}, {2})), "[-5,7]");
}

TEST(ValueText, json_writes_what_it_lacks_as_strings) {
  EXPECT_EQ(as_json(value_of<float>({kNaNValue, kInf, -kInf}, {3})),
            R"(["NaN","Infinity","-Infinity"])");
}

TEST(ValueText, json_reads_back_as_the_same_number) {
  for (const float number : {1e-45F, 3.4028235e38F, 0.3F, 16777217.0F})
    EXPECT_EQ(std::strtof(as_json(value_of<float>({number}, {})).c_str(), nullptr), number);
  EXPECT_EQ(as_json(value_of<Float16>({{0x3555}}, {})), "0.33325195");
}

TEST(ValueText, people_read_aligned_rows) {
  EXPECT_EQ(readable(value_of<float>({1, -2.5F, 10, 0.125F}, {2, 2})),
            "[[    1  -2.5]\n"
            " [   10 0.125]]\n");
  EXPECT_EQ(readable(value_of<std::int32_t>({1, 2, 3, 4}, {2, 2, 1})),
            "[[[1]\n"
            "  [2]]\n"
            "\n"
            " [[3]\n"
            "  [4]]]\n");
  EXPECT_EQ(readable(value_of<double>({0.1}, {})), "0.1\n");
  EXPECT_EQ(readable(value_of<float>({}, {0})), "[]\n");
  EXPECT_EQ(readable(value_of<float>({kNaNValue, kInf}, {2})), "[nan inf]\n");
}

TEST(ValueText, the_middle_of_a_large_tensor_is_left_out) {
  std::vector<std::int32_t> numbers(1200);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  EXPECT_EQ(readable(value_of(numbers, {1200})), "[   0    1    2 ... 1197 1198 1199]\n");
  EXPECT_EQ(readable(value_of(numbers, {600, 2})),
            "[[   0    1]\n"
            " [   2    3]\n"
            " [   4    5]\n"
            " ...\n"
            " [1194 1195]\n"
            " [1196 1197]\n"
            " [1198 1199]]\n");
  numbers.resize(1000);
  EXPECT_THAT(readable(value_of(numbers, {1000})), Not(HasSubstr("...")));
}

TEST(ValueText, long_rows_are_broken) {
  std::istringstream lines(readable(value_of(std::vector<std::int32_t>(300, 12345), {300})));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 102U);
  EXPECT_EQ(count, 19);
}

TEST(NpyFile, has_the_header_and_the_bytes_of_numpy) {
  const ScratchDirectory scratch;
  const std::string file = (scratch / "v.npy").string();
  write_npy(file, value_of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const std::string bytes = bytes_of(file);
  ASSERT_EQ(bytes.size(), 128U + 24U);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 56), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)");
  EXPECT_EQ(bytes[127], '\n');
  float third = 0;
  std::memcpy(&third, bytes.data() + 128 + 8, 4);
  EXPECT_EQ(third, 3);
}

std::string npy_header(const TensorValue& value) {
  const ScratchDirectory scratch;
  const std::string file = (scratch / "v.npy").string();
  write_npy(file, value);
  const std::string bytes = bytes_of(file);
  EXPECT_EQ(bytes.find('\n') % 64, 63U);
  return bytes.substr(10, bytes.find('}') - 9);
}

TEST(NpyFile, writes_shapes_and_dtypes_as_numpy_does) {
  EXPECT_EQ(npy_header(value_of<double>({1}, {})),
            "{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(npy_header(value_of<std::uint8_t>({1}, {1})),
            "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }");
  EXPECT_EQ(npy_header(value_of<Float16>({{0}}, {1})).substr(0, 16), "{'descr': '<f2',");
}

TEST(NpyFile, widens_bf16) {
  const ScratchDirectory scratch;
  const std::string file = (scratch / "v.npy").string();
  write_npy(file, value_of<BFloat16>({{0x3fc0}, {0xc000}}, {2}));
  const std::string bytes = bytes_of(file);
  EXPECT_THAT(bytes, HasSubstr("'<f4'"));
  float numbers[2];
  std::memcpy(numbers, bytes.data() + bytes.size() - 8, 8);
  EXPECT_THAT(numbers, ElementsAre(1.5F, -2.0F));
}

/// TRAIN steps 0 and 10, an EVAL step 20.
class ReadingCommands : public CliTest {
 protected:
  ReadingCommands() {
    WorkerWriter writer(store_);
    writer.collection("gradients", {"^g"}).collection("losses", {"loss"});
    writer.save({0, Mode::Train, 0}, {scalar("loss", 0.71), raw("g", {1, kInf}).with("mean", 7)});
    writer.save({10, Mode::Train, 10},
                {scalar("loss", 0.5), reduced("g", "mean", 3).with("max", 4),
                 filled("w", 2000, 0.5F).shaped({2, 1000}), texts("t", {"a\"b", "c"})});
    writer.save({20, Mode::Eval, 0}, {scalar("loss", kNaNValue), only_shape("s", {2, 3})});
    writer.finish();
  }
};

TEST_F(ReadingCommands, steps_lists_the_steps) {
  EXPECT_EQ(run({"steps", path()}).out, "0 to 20 by 10\n");
  EXPECT_EQ(run({"steps", path(), "--json"}).out, "[0,10,20]\n");
  EXPECT_EQ(run({"steps", path(), "--mode", "eval", "--json"}).out, "[0]\n");
  EXPECT_EQ(run({"steps", path(), "--mode", "PREDICT", "--json"}).out, "[]\n");
}

TEST_F(ReadingCommands, steps_of_a_tensor_are_those_at_which_it_was_saved) {
  EXPECT_EQ(run({"steps", path(), "--tensor", "g"}).out, "0, 10\n");
  EXPECT_EQ(run({"steps", path(), "--tensor", "loss", "--mode", "EVAL", "--json"}).out, "[0]\n");
  const Ran ran = run({"steps", path(), "--tensor", "lsos"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("did you mean loss?"));
}

TEST_F(ReadingCommands, an_unknown_mode_is_an_error_that_lists_the_modes) {
  const Ran ran = run({"steps", path(), "--mode", "test"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("TRAIN, EVAL, PREDICT, GLOBAL"));
}

TEST_F(ReadingCommands, tensors_lists_the_names) {
  EXPECT_EQ(run({"tensors", path()}).out, "g\nloss\ns\nt\nw\n");
  EXPECT_EQ(run({"tensors", path(), "--json"}).out, "[\"g\",\"loss\",\"s\",\"t\",\"w\"]\n");
  EXPECT_EQ(run({"tensors", path(), "--step", "0"}).out, "g\nloss\n");
  EXPECT_EQ(run({"tensors", path(), "--step", "0", "--mode", "EVAL"}).out, "loss\ns\n");
  EXPECT_EQ(run({"tensors", path(), "--collection", "gradients"}).out, "g\n");
  EXPECT_EQ(run({"tensors", path(), "--regex", "^(s|w)$"}).out, "s\nw\n");
}

TEST_F(ReadingCommands, steps_are_broken_between_ranges) {
  WorkerWriter writer(store_, {.attempt = 1});
  for (const std::int64_t step : {30, 40, 50, 61, 73, 80, 84, 88, 93, 99})
    writer.save_steps({step});
  writer.finish();
  std::ostringstream out, err;
  set_terminal(out, {.columns = 22});
  EXPECT_EQ(run_cli({"steps", path()}, out, err), kExitFine);
  EXPECT_EQ(out.str(), "0 to 50 by 10, 61, 73,\n80 to 88 by 4, 93, 99\n");
}

TEST_F(ReadingCommands, tensors_in_full_is_an_array_of_objects_as_json) {
  EXPECT_EQ(run({"tensors", path(), "--long", "--json", "--regex", "^[gst]"}).out,
            R"([{"tensor":"g","dtype":"f32","shape":null,"elements":4,"steps":2,"raw":true,)"
            R"("reductions":["max","mean"],"value_bytes":8},)"
            R"({"tensor":"s","dtype":"f32","shape":[2,3],"elements":6,"steps":1,"raw":false,)"
            R"("reductions":[],"value_bytes":0},)"
            R"({"tensor":"t","dtype":"utf8","shape":[2],"elements":2,"steps":1,"raw":true,)"
            R"("reductions":[],"value_bytes":null}])"
            "\n");
  EXPECT_EQ(run({"tensors", path(), "-l", "--json", "--regex", "^nothing"}).out, "[]\n");
}

TEST_F(ReadingCommands, tensors_in_full_tells_what_was_saved_of_each) {
  EXPECT_EQ(run({"tensors", path(), "--long"}).out,
            "TENSOR  DTYPE  SHAPE       STEPS  SAVED             VALUES\n"
            "g       f32    4 elements      2  raw, max, mean   8 bytes\n"
            "loss    f64    ()              3  raw             24 bytes\n"
            "s       f32    (2, 3)          1  only the shape         -\n"
            "t       utf8   (2)             1  raw                    -\n"
            "w       f32    (2, 1000)       1  raw              7.8 KiB\n");
  EXPECT_EQ(run({"tensors", path(), "-l", "--mode", "eval", "--step", "0"}).out,
            "TENSOR  DTYPE  SHAPE   STEPS  SAVED            VALUES\n"
            "loss    f64    ()          1  raw             8 bytes\n"
            "s       f32    (2, 3)      1  only the shape        -\n");
  EXPECT_THAT(run({"tensors", path(), "-l", "--regex", "^w"}).out, HasSubstr("\nw "));
  EXPECT_THAT(run({"tensors", path(), "-l", "--regex", "^w"}).out, Not(HasSubstr("loss")));
  EXPECT_THAT(run({"tensors", path(), "-l", "--collection", "gradients"}).out, HasSubstr("\ng "));
  EXPECT_THAT(run({"tensors", path(), "-l", "--collection", "gradients"}).out,
              Not(HasSubstr("loss")));
}

TEST_F(ReadingCommands, tensors_answers_unknown_names_and_steps_with_the_nearest) {
  Ran ran = run({"tensors", path(), "--collection", "gradient", "--json"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("no collection \"gradient\"; did you mean gradients?"));
  ran = run({"tensors", path(), "--step", "5"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("nothing was saved at step 5 of mode GLOBAL; saved steps near it: "
                                 "0, 10, 20"));
}

TEST_F(ReadingCommands, tensors_takes_a_collection_or_a_pattern_not_both) {
  const Ran ran = run({"tensors", path(), "--collection", "losses", "--regex", "x"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("exclude each other"));
}

TEST_F(ReadingCommands, info_tells_what_there_is) {
  const Ran ran = run({"info", path()});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, HasSubstr("status    ended\n"));
  EXPECT_THAT(ran.out, HasSubstr("workers   worker_0\n"));
  EXPECT_THAT(ran.out, HasSubstr("steps     3, from 0 to 20\n"));
  EXPECT_THAT(ran.out, HasSubstr("  TRAIN   2, from 0 to 10\n"));
  EXPECT_THAT(ran.out, HasSubstr("tensors   5\n"));
  EXPECT_THAT(ran.out, HasSubstr("\ngradients         1\n"));
  EXPECT_THAT(log_.lines(), ::testing::IsEmpty());
}

TEST_F(ReadingCommands, info_as_json_has_stable_keys) {
  const Json info = run({"info", path(), "--json"}).json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : info.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("trial", "location", "status", "silent_seconds", "workers",
                                "num_workers", "modes", "steps", "collections", "tensors", "rows",
                                "index_bytes", "value_bytes", "overhead", "notes"));
  EXPECT_EQ(info["trial"], "run");
  EXPECT_EQ(info["status"], "ended");
  EXPECT_EQ(info["workers"], Json({"worker_0"}));
  EXPECT_EQ(info["modes"]["TRAIN"], Json({{"count", 2}, {"first", 0}, {"last", 10}}));
  EXPECT_EQ(info["steps"]["count"], 3);
  EXPECT_EQ(info["collections"][1], Json({{"name", "losses"}, {"tensors", 1}}));
  EXPECT_EQ(info["tensors"], 5);
  EXPECT_EQ(info["rows"], 8);
  EXPECT_TRUE(info["overhead"].is_null());
}

TEST_F(CliTest, info_says_that_an_old_run_without_an_end_is_silent) {
  WorkerWriter(store_).save_steps({0});  // in 2023
  EXPECT_THAT(run({"info", path()}).out, HasSubstr("status    silent for "));
  const Json info = run({"info", path(), "--json"}).json();
  EXPECT_EQ(info["status"], "silent");
  EXPECT_GT(info["silent_seconds"], 60);
}

TEST_F(CliTest, info_says_that_a_run_whose_process_is_gone_is_interrupted) {
  auto lock = DirectoryLock::try_acquire(path(), ".lock-worker_0");
  WorkerWriter(store_).save_steps({0});  // in 2023
  EXPECT_EQ(run({"info", path(), "--json"}).json()["status"], "running");
  lock.reset();
  EXPECT_THAT(run({"info", path()}).out,
              HasSubstr("status    interrupted: no process writes it; the newest step is "));
  const Json info = run({"info", path(), "--json"}).json();
  EXPECT_EQ(info["status"], "interrupted");
  EXPECT_GT(info["silent_seconds"], 60);
}

TEST_F(CliTest, info_and_verify_and_diff_count_the_same_things_by_the_same_words) {
  WorkerWriter writer(store_);
  writer.save(0, {scalar("loss", 1), scalar("cupel/overhead", 0.5)}).save_steps({1}).finish();
  EXPECT_THAT(run({"info", path()}).out, HasSubstr("\nrows      2\n"));
  EXPECT_THAT(run({"info", path()}).out, HasSubstr("\nvalues    16 bytes\n"));
  EXPECT_THAT(run({"verify", path()}).out, HasSubstr("2 steps, 2 rows, 16 bytes of values: "));
  EXPECT_THAT(run({"diff", path(), path()}).out, HasSubstr("2 steps, 2 rows ("));
  const Json info = run({"info", path(), "--json"}).json();
  const Json verified = run({"verify", path(), "--json"}).json();
  for (const char* key : {"rows", "value_bytes"}) EXPECT_EQ(info[key], verified[key]) << key;
  EXPECT_EQ(run({"diff", path(), path(), "--json"}).json()["rows"], info["rows"]);
}

TEST_F(CliTest, info_of_a_run_that_has_just_begun) {
  WorkerWriter writer(store_);
  EXPECT_THAT(run({"info", path()}).out, HasSubstr("status    running\n"));
  EXPECT_EQ(run({"info", path(), "--json"}).json()["steps"]["first"], nullptr);
}

TEST_F(CliTest, info_tells_how_far_each_worker_has_come) {
  WorkerWriter first(store_, {"worker_0", 3});
  first.save_steps({0, 10, 20});
  WorkerWriter second(store_, {"worker_1", 3});
  second.save_steps({0, 10});
  const WorkerWriter third(store_, {"worker_2", 3});
  EXPECT_THAT(run({"info", path()}).out, HasSubstr("  worker_0  step 20\n"
                                                   "  worker_1  step 10\n"
                                                   "  worker_2  no step yet\n"));
}

TEST_F(CliTest, info_shows_notes_and_overhead_of_the_hook) {
  WorkerWriter writer(store_);
  writer.save(4, {scalar("loss", 1), scalar("cupel/overhead", 0.015),
                  texts("cupel/note", {R"({"dropped":[3]})"})});
  writer.finish();
  const Ran ran = run({"info", path()});
  EXPECT_THAT(ran.out, HasSubstr("overhead  1.5 % of the run's time"));
  EXPECT_THAT(ran.out, HasSubstr("step 4  worker_0  {\"dropped\":[3]}"));
  const Json info = run({"info", path(), "--json"}).json();
  EXPECT_EQ(info["overhead"], 0.015);
  EXPECT_EQ(info["notes"][0]["note"]["dropped"][0], 3);
}

TEST_F(CliTest, info_names_the_steps_that_a_training_begun_anew_hides) {
  for (const int steps : {6, 2}) {
    store_.remove("training_job_end.ts");  // as if the first had been killed
    Hook hook({.out_dir = path(), .save_config = {.save_interval = 1}});
    for (int i = 0; i < steps; ++i) {
      hook.next_step();
      hook.save_scalar("loss", 1);
    }
  }
  const Ran ran = run({"info", path()});
  EXPECT_THAT(ran.out, HasSubstr("steps     2, from 0 to 1\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("\nstep 0  worker_0  steps 0 to 5 of an earlier attempt are hidden "
                        "by attempt 1\n"));
  EXPECT_EQ(run({"info", path(), "--json"}).json()["notes"][0]["note"]["last"], 5);
}

TEST_F(CliTest, info_tells_what_it_can_before_a_damaged_note) {
  const std::string note = R"({"dropped":"and why, at more length than an index holds: )";
  WorkerWriter writer(store_);
  for (const std::int64_t step : {3, 4}) {
    writer.save(step,
                {scalar("loss", 1), texts("cupel/note", {note + std::to_string(step) + "\"}"})});
    writer.seal();
  }
  writer.save(5, {scalar("loss", 1)});
  writer.finish();
  const std::string events = "events/0000-000000000/000000000003_worker_0.arrow";
  auto bytes = *store_.get(events);
  for (std::byte& byte : bytes) byte ^= std::byte{1};
  store_.put(events, bytes);
  Ran ran = run({"info", path()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.out, HasSubstr("steps     3, from 3 to 5\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nstep 4  worker_0  {\"dropped\""));
  EXPECT_THAT(ran.out, Not(HasSubstr("step 3  worker_0")));
  EXPECT_THAT(ran.err, HasSubstr(events));
  ran = run({"info", path(), "--json"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.json()["notes"].size(), 1U);
}

TEST_F(ReadingCommands, show_has_a_line_for_every_saved_step) {
  const Ran ran = run({"show", path(), "loss"});
  EXPECT_EQ(ran.out,
            "STEP  MODE   MODE STEP  WORKER    DTYPE  SHAPE  VALUE\n"
            "   0  TRAIN          0  worker_0  f64    ()     0.71\n"
            "  10  TRAIN         10  worker_0  f64    ()     0.5\n"
            "  20  EVAL           0  worker_0  f64    ()     \"NaN\"\n");
}

TEST_F(ReadingCommands, show_of_one_mode_has_its_steps_only) {
  const auto lines = run({"show", path(), "loss", "--mode", "EVAL", "--json"}).json_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["step"], 20);
  EXPECT_EQ(lines[0]["mode_step"], 0);
  EXPECT_EQ(lines[0]["value"], "NaN");
}

TEST_F(ReadingCommands, show_as_json_has_the_value_as_nested_lists) {
  EXPECT_EQ(run({"show", path(), "g", "--step", "0", "--json"}).out,
            R"({"tensor":"g","step":0,"mode":"TRAIN","mode_step":0,"worker":"worker_0",)"
            R"("dtype":"f32","shape":[2],"value":[1.0,"Infinity"]})"
            "\n");
  EXPECT_EQ(run({"show", path(), "t", "--step", "10", "--json"}).json()["value"],
            Json({"a\"b", "c"}));
}

TEST_F(ReadingCommands, show_as_json_has_reductions_where_there_is_no_value) {
  EXPECT_EQ(run({"show", path(), "g", "--step", "10", "--json"}).out,
            R"({"tensor":"g","step":10,"mode":"TRAIN","mode_step":10,"worker":"worker_0",)"
            R"("dtype":"f32","shape":null,"reductions":{"max":4.0,"mean":3.0}})"
            "\n");
}

TEST_F(ReadingCommands, show_takes_a_reduction_saved_or_computed) {
  EXPECT_EQ(run({"show", path(), "g", "--step", "0", "--reduction", "mean", "--json"})
                .json()["reductions"],
            Json({{"mean", 7.0}}));
  EXPECT_EQ(run({"show", path(), "g", "--step", "0", "--reduction", "min", "--json"})
                .json()["reductions"],
            Json({{"min", 1.0}}));
  EXPECT_THAT(run({"show", path(), "loss", "--reduction", "abs_max", "--mode", "TRAIN"}).out,
              HasSubstr("SHAPE  abs_max\n   0  TRAIN          0  worker_0  f64    ()     0.71\n"));
  const Ran ran = run({"show", path(), "g", "--step", "10", "--reduction", "std"});
  EXPECT_EQ(ran.code, kExitError);
}

TEST_F(ReadingCommands, show_prints_the_value_of_a_step_for_people) {
  EXPECT_EQ(run({"show", path(), "g", "--step", "0"}).out,
            "g  step 0 (TRAIN 0)  worker_0  f32 (2)\nmean 7\n[  1 inf]\n");
  EXPECT_THAT(run({"show", path(), "w", "--step", "10"}).out,
              HasSubstr("[[0.5 0.5 0.5 ... 0.5 0.5 0.5]\n [0.5"));
  EXPECT_THAT(run({"show", path(), "s", "--step", "20"}).out,
              HasSubstr("(2, 3)\nthe value was not saved\n"));
}

TEST_F(ReadingCommands, show_writes_a_numpy_file) {
  const Ran ran = run({"show", path(), "w", "--step", "10", "--npy", file("w.npy")});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(bytes_of(file("w.npy")).size(), 128U + 8000U);
}

TEST_F(ReadingCommands, show_refuses_what_a_numpy_file_cannot_hold) {
  const auto error = [&](const std::vector<std::string>& rest) {
    std::vector<std::string> arguments = {"show", path()};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, kExitError);
    return ran.err;
  };
  const std::string npy = file("x.npy");
  EXPECT_THAT(error({"t", "--step", "10", "--npy", npy}), HasSubstr("text is not supported"));
  EXPECT_THAT(error({"w", "--npy", npy}), HasSubstr("give --step N"));
  EXPECT_THAT(error({"g", "--step", "10", "--npy", npy}), HasSubstr("reductions were saved"));
  EXPECT_THAT(error({"w", "--step", "10", "--npy", file("no/dir.npy")}), HasSubstr("cannot write"));
  EXPECT_FALSE(std::filesystem::exists(npy));
}

TEST_F(ReadingCommands, show_answers_unknown_names_with_the_nearest) {
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, kExitError);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(error({"show", path(), "lsos"}), HasSubstr("did you mean loss?"));
  EXPECT_THAT(error({"show", path(), "loss", "--step", "7"}),
              HasSubstr("saved steps near it: 0, 10"));
  EXPECT_THAT(error({"show", path(), "loss", "--step", "99"}), HasSubstr("near it: 10, 20"));
  EXPECT_THAT(error({"show", path(), "loss", "--worker", "worker_1"}),
              HasSubstr("no worker \"worker_1\"; did you mean worker_0?"));
  EXPECT_THAT(error({"show", path(), "loss", "--reduction", "men"}), HasSubstr("one of min, max"));
}

TEST_F(CliTest, show_takes_a_worker) {
  for (const char* name : {"worker_0", "worker_1"}) {
    WorkerWriter writer(store_, {name, 2});
    writer.save(0, {scalar("loss", name[7] - '0')}).close();
  }
  store_.put(kEndMarker, {});
  const auto value = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"show", path(), "loss", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments).json()["value"];
  };
  EXPECT_EQ(value({}), 0);
  EXPECT_EQ(value({"--worker", "worker_1"}), 1);
  EXPECT_EQ(value({"--step", "0", "--worker", "worker_1"}), 1);
}

TEST_F(CliTest, names_of_tensors_are_printed_without_control_characters) {
  WorkerWriter writer(store_);
  writer.save(0, {scalar("a\x1b[31m", 1)}).finish();
  EXPECT_EQ(run({"tensors", path()}).out, "a\\x1b[31m\n");
  EXPECT_EQ(run({"tensors", path(), "--json"}).json()[0], "a\x1b[31m");
}

TEST_F(CliTest, damage_is_an_error_with_its_place) {
  WorkerWriter writer(store_);
  writer.save_steps({0, 1}).seal();
  writer.finish();
  flip_bit(store_, writer.index_key(), 900);
  const Ran ran = run({"steps", path()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr(writer.index_key()));
}

TEST_F(CliTest, what_came_before_damage_is_printed_by_every_reading_command) {
  WorkerWriter writer(store_);
  writer.save(0, {filled("w", 20, 1)}).seal();
  const std::string second = "index/0000-000000000/000000000001_worker_0.arrow";
  writer.save(1, {filled("w", 20, 2)}).seal();
  writer.finish();
  flip_bit(store_, second, 900);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"info", path()},
                                                  {"steps", path()},
                                                  {"tensors", path()},
                                                  {"show", path(), "w"}}) {
    const Ran ran = run(command);
    EXPECT_EQ(ran.code, kExitError) << command[0];
    EXPECT_THAT(ran.err, HasSubstr(second)) << command[0];
    EXPECT_THAT(ran.out, Not(::testing::IsEmpty())) << command[0];
  }
  EXPECT_EQ(run({"steps", path()}).out, "0\n");
}

TEST_F(CliTest, a_json_line_is_whole_or_not_there) {
  WorkerWriter writer(store_);
  writer.save(0, {filled("w", 20, 1)}).seal();
  writer.finish();
  const std::string events = "events/0000-000000000/000000000000_worker_0.arrow";
  auto bytes = *store_.get(events);
  for (std::byte& byte : bytes) byte ^= std::byte{1};
  store_.put(events, bytes);
  const Ran ran = run({"show", path(), "w", "--step", "0", "--json"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace cupel::testing
