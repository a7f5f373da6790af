// Writes the golden runs of the present format version: make_golden DIR. Run by
// scripts/make_golden.sh, never by a test: golden runs are recorded once and must stay readable for
// ever.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "describe_run.h"

namespace fs = std::filesystem;

namespace {

using namespace cupel;

void expect(const fs::path& run) {
  std::ofstream(run.string() + ".expected.txt") << describe_run(*create_trial(run.string()));
}

HookOptions options_for(const fs::path& run) {
  HookOptions options;
  options.out_dir = run.string();
  options.include_collections = {"weights", "gradients", "words"};
  options.save_config = {.save_interval = 1};
  options.segment_bytes = 14000;  // a segment for every few steps
  return options;
}

// One scalar at one step: the file that docs/format.md takes apart.
void write_tiny(const fs::path& run) {
  HookOptions options;
  options.out_dir = run.string();
  Hook hook(options);
  hook.next_step();
  hook.save_scalar("loss", 0.25);
  hook.close();
}

// Two workers that group what they save, each with a value in an events file and one in the index.
void write_small(const fs::path& run) {
  for (const char* const worker : {"worker_0", "worker_1"}) {
    HookOptions options;
    options.out_dir = run.string();
    options.include_workers = "all";
    options.worker = worker;
    options.num_workers = 2;
    options.include_collections = {"weights"};
    options.save_config = {.save_interval = 1};
    Hook hook(options);
    hook.set_mode(Mode::Train);
    std::vector<float> weight(17);
    for (float i = 0; i < 2; ++i) {
      hook.next_step();
      std::iota(weight.begin(), weight.end(), i);
      hook.save_tensor("fc.weight", TensorView(weight.data(), {17}));
      hook.save_scalar("loss", 0.25 / (1 + i));
    }
    hook.close();
  }
}

// Tensors that calls put into collections, at the first step and later; no pattern finds them.
void write_joined(const fs::path& run) {
  HookOptions options;
  options.out_dir = run.string();
  options.include_collections = {"weights"};
  options.save_config = {.save_interval = 1};
  Hook hook(options);
  hook.get_collection("listing").add_tensor_name("first");
  const float value = 1;
  for (int i = 0; i < 3; ++i) {
    hook.next_step();
    hook.save_tensor("first", TensorView(&value, {}), {"weights"});
    if (i > 0) hook.save_tensor("later", TensorView(&value, {}), {"weights", "mine"});
  }
  hook.close();
}

// Every dtype, values inline and in events files, reductions, special values, two modes, several
// segments. Half way the run is copied as a killed process would leave it, its last message cut.
void write_full(const fs::path& run, const fs::path& killed) {
  Hook hook(options_for(run));
  hook.get_collection("words").include("^words$");
  hook.get_collection("gradients")
      .set_reduction_config(
          {.reductions = {"min", "max", "median"}, .abs_reductions = {"mean"}, .norms = {"l2"}});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::string> words = {"gold", "", "s\xc3\xaclver"};
  const std::vector<std::byte> ones(64, std::byte{1});
  for (int i = 0; i < 6; ++i) {
    hook.set_mode(i % 3 == 2 ? Mode::Eval : Mode::Train);
    hook.next_step();
    std::vector<float> weight(24);
    std::iota(weight.begin(), weight.end(), static_cast<float>(i));
    const std::vector<float> gradient = {0.5F * static_cast<float>(i), -1, i > 3 ? NAN : 2.0F,
                                         -0.0F, i > 4 ? -kInfinity : 0.0F};
    hook.save_tensor("fc.weight", TensorView(weight.data(), {4, 6}));
    hook.save_tensor("gradient/fc.weight", TensorView(gradient.data(), {5}));
    hook.save_tensor("words", TensorView(words.data(), {words.size()}));
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::Utf8) continue;
      hook.save_tensor(std::string(to_string(dtype)) + ".weight",
                       TensorView(ones.data(), dtype, {1, 2}));
    }
    hook.save_scalar("loss", 1.0 / (1 + i));
    if (i != 4) continue;
    hook.set_mode(Mode::Train);
    fs::copy(run, killed, fs::copy_options::recursive);
  }
  hook.close();
  fs::path last;
  for (const auto& entry : fs::recursive_directory_iterator(killed / "index")) {
    if (entry.is_regular_file() && entry.path() > last) last = entry.path();
  }
  fs::resize_file(last, fs::file_size(last) - 100);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_golden DIR\n";
    return 2;
  }
  const fs::path directory = argv[1];
  write_tiny(directory / "tiny");
  write_small(directory / "small");
  write_joined(directory / "joined");
  write_full(directory / "full", directory / "killed");
  for (const char* run : {"tiny", "small", "joined", "full", "killed"}) {
    for (const char* const worker : {"worker_0", "worker_1"})
      fs::remove(directory / run / (std::string(".lock-") + worker));
    expect(directory / run);
  }
  return 0;
}
