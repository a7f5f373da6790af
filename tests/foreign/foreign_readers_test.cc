// Readers of Arrow files that are not ours see in a closed run what we see in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "docs/scratch.h"
#include "foreign/other_programs.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;
using cupel_foreign::bits_of;
using cupel_foreign::hex;
using cupel_foreign::node;
using cupel_foreign::output_of;
using ::testing::UnorderedElementsAreArray;

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
  EXPECT_THAT(
      output_of(node("'" CUPEL_FOREIGN "/dump_run.js' " + std::string(GetParam()) + " run")),
      UnorderedElementsAreArray(ours));
}

INSTANTIATE_TEST_SUITE_P(, ForeignReaders, ::testing::Values("arrow", "polars"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace cupel
