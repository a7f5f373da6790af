// Looks into a run: steps, names, values, reductions.
//
// usage: read [DIR]   DIR is runs/deep if not given

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cupel/core/error.h"
#include "cupel/cupel.h"

namespace {

void read(const std::string& directory) {
  const std::unique_ptr<cupel::Trial> trial = cupel::create_trial(directory);
  for (const std::int64_t step : trial->steps(cupel::Mode::Train)) std::cout << step << ' ';
  std::cout << "are the steps of mode TRAIN\n";
  for (const std::string& name : trial->tensor_names({.step = 10, .regex = "fc1[.]weight"}))
    std::cout << name << " was saved at step 10\n";

  const cupel::Tensor weight = trial->tensor("fc1.weight");
  const cupel::TensorValue value = weight.value(10);
  const std::span<const double> elements = value.as<double>();
  std::cout << cupel::to_string(value.dtype()) << ' ' << cupel::to_string(value.shape())
            << ", the first element is " << elements[0] << '\n';

  const double mean = weight.reduction_value(10, "mean", {.abs = true});
  std::cout << "the mean magnitude is " << mean << '\n';

  const std::optional<cupel::Tensor> bias = trial->find_tensor("fc1.bias");
  std::cout << "fc1.bias was " << (bias ? "" : "not ") << "saved\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    read(argc > 1 ? argv[1] : "runs/deep");
    return 0;
  } catch (const cupel::Error& error) {
    std::cerr << "read: " << error.what() << '\n';
    return 2;
  }
}
