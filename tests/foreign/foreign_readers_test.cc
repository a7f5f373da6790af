// Readers of Arrow files that are not ours see in a closed run what we see in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "docs/markdown.h"
#include "docs/scratch.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;
using ::testing::UnorderedElementsAreArray;

// What a program says on both streams, by lines.
Lines output_of(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  std::string text;
  for (int c = ::fgetc(pipe); c != EOF; c = ::fgetc(pipe)) text += static_cast<char>(c);
  if (::pclose(pipe) != 0) ADD_FAILURE() << command << " failed:\n" << text;
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string node(const std::string& arguments) {
  return "NODE_PATH='" CUPEL_ARROW_READERS "/node_modules' '" CUPEL_NODE "' " + arguments;
}

std::string hex(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

std::string bits_of(double number) {
  if (std::isnan(number)) return "nan";
  const auto bits = std::bit_cast<std::uint64_t>(number);
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto byte = static_cast<unsigned char>(bits >> static_cast<unsigned>(shift));
    text += hex(&byte, 1);
  }
  return text;
}

// The line that dump_run.js prints of a row.
std::string line_of(const Trial& trial, const std::string& name, const TensorRecord& record) {
  Json shape, counts, value;
  if (record.shape) {
    shape = Json::array();
    for (const std::int64_t extent : *record.shape) shape.push_back(std::to_string(extent));
  }
  if (record.counts)
    for (const std::int64_t count :
         {record.counts->nan, record.counts->pos_inf, record.counts->neg_inf, record.counts->zero})
      counts.push_back(std::to_string(count));
  Json reductions = Json::object();
  record.reductions.set.for_each([&](Reduction reduction) {
    reductions[std::string(to_string(reduction))] = bits_of(*record.reductions.get(reduction));
  });
  if (record.has_value) {
    const TensorValue saved = trial.tensor(name).value(record.step, Mode::Global, record.worker);
    value = hex(reinterpret_cast<const unsigned char*>(saved.bytes().data()), saved.bytes().size());
  }
  return Json::array({record.worker, std::to_string(record.step), to_string(record.mode),
                      std::to_string(record.mode_step), name, to_string(record.dtype), shape,
                      std::to_string(record.elements), counts, reductions, value})
      .dump();
}

Lines lines_of(const std::string& run) {
  const auto trial = create_trial(run);
  Lines lines;
  for (const std::int64_t step : trial->steps())
    for (const std::string& name : trial->tensor_names({.step = step}))
      for (const TensorRecord& record : trial->tensor(name).records(step))
        lines.push_back(line_of(*trial, name, record));
  return lines;
}

// Every dtype, in the index and in events files; every reduction; numbers that are hard to write;
// names that are hard to quote; two modes, several segments, two workers.
void write_everything(const std::string& run, const std::string& worker) {
  HookOptions options;
  options.out_dir = run;
  options.include_workers = "all";
  options.worker = worker;
  options.num_workers = 2;
  options.include_collections = {"weights", "gradients", "words", "odd"};
  options.save_config = {.save_interval = 1};
  options.segment_bytes = 20'000;  // a segment for every few steps
  Hook hook(options);
  hook.get_collection("words").include("^words$");
  hook.get_collection("odd").include("^odd");
  hook.get_collection("gradients")
      .set_reduction_config(
          {.reductions = {"min", "max", "mean", "std", "variance", "sum", "prod", "median"},
           .abs_reductions = {"min", "max", "mean", "std", "variance", "sum", "prod", "median"},
           .norms = {"l1", "l2"},
           .save_raw_tensor = true});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::string> words = {"gold", "", "s\xc3\xaclver", std::string(200, 'x')};
  const std::vector<std::byte> ones(8 * 300, std::byte{1});
  for (int i = 0; i < 9; ++i) {
    hook.set_mode(i % 3 == 2 ? Mode::Eval : Mode::Train);
    hook.next_step();
    std::vector<float> gradient(100);
    std::iota(gradient.begin(), gradient.end(), -50.5F + static_cast<float>(i));
    hook.save_tensor("gradient/fc.weight", TensorView(gradient.data(), {4, 25}));
    gradient = {NAN, kInfinity, -kInfinity, -0.0F, 1e-42F};
    hook.save_tensor("gradient/fc.bias", TensorView(gradient.data(), {5}));
    hook.save_tensor("words", TensorView(words.data(), {words.size()}));
    hook.save_tensor("odd \"n\xc3\xa4me\" \\ 'quoted'", TensorView(ones.data(), DType::I16, {}));
    hook.save_tensor("odd/empty", TensorView(ones.data(), DType::F32, {3, 0}));
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::Utf8) continue;
      for (const std::int64_t columns : {2, 150})
        hook.save_tensor(std::string(to_string(dtype)) + "_" + std::to_string(columns) + ".weight",
                         TensorView(ones.data(), dtype, {2, columns}));
    }
    hook.save_scalar("loss", 1.0 / (3 + i));
  }
  hook.close();
}

class ForeignReaders : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (*CUPEL_NODE == '\0' || *CUPEL_ARROW_READERS == '\0')
      GTEST_SKIP() << "no node, or scripts/bootstrap.sh could not fetch what it reads with";
  }
  cupel_docs::Scratch scratch_;
};

TEST_P(ForeignReaders, see_every_name_step_reduction_and_value) {
  write_everything("run", "worker_0");
  write_everything("run", "worker_1");
  const Lines ours = lines_of("run");
  ASSERT_GT(ours.size(), 500U);
  EXPECT_THAT(output_of(node("'" CUPEL_FOREIGN_DUMP "' " + std::string(GetParam()) + " run")),
              UnorderedElementsAreArray(ours));
}

INSTANTIATE_TEST_SUITE_P(, ForeignReaders, ::testing::Values("arrow", "polars"),
                         [](const auto& row) { return std::string(row.param); });

using OtherReadersDocument = ForeignReaders;

TEST_F(OtherReadersDocument, prints_what_it_shows) {
  HookOptions options;
  options.out_dir = "run";
  options.include_collections = {"weights", "gradients"};
  options.save_config = {.save_interval = 1};
  Hook hook(options);
  hook.get_collection("gradients").set_reduction_config({.reductions = {"mean"}});
  hook.set_mode(Mode::Train);
  std::vector<float> weight(24);
  std::iota(weight.begin(), weight.end(), 0.0F);
  for (int i = 0; i < 2; ++i) {
    hook.next_step();
    const std::vector<float> gradient(3, i == 0 ? 0.5F : 0.25F);
    hook.save_tensor("fc.weight", TensorView(weight.data(), {4, 6}));
    hook.save_tensor("gradient/fc.weight", TensorView(gradient.data(), {3}));
    hook.save_scalar("loss", i == 0 ? 1 : 0.5);
  }
  hook.close();

  const auto blocks = cupel_docs::blocks_of(CUPEL_SOURCE_DIR "/docs/other-readers.md");
  int programs = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].language != "js") continue;
    ++programs;
    ASSERT_LT(i + 1, blocks.size());
    ASSERT_EQ(blocks[i + 1].language, "text") << blocks[i].line;
    std::ofstream program("program.js");
    for (const std::string& line : blocks[i].lines) program << line << '\n';
    program.close();
    EXPECT_EQ(output_of(node("program.js")), blocks[i + 1].lines) << blocks[i].line;
  }
  EXPECT_EQ(programs, 3);
}

}  // namespace
}  // namespace cupel
