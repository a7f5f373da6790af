#include "cupel/trial/trial.h"

int main(int, char** argv) {
  const auto trial = cupel::create_trial(argv[1]);
  const cupel::TensorValue value = trial->tensor("gradient/fc1.weight").value(1);
  return trial->steps().size() == 3 && value.as<float>()[99] == 1e-9F ? 0 : 1;
}
