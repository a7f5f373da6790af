// A program of single components that names no stores opens directories, and reports what it lacks.
#include <iostream>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"

int main(int, char** argv) {
  try {
    cupel::create_trial(argv[1]);
  } catch (const cupel::UsageError& error) {
    std::cout << error.what() << '\n';
    return 3;
  }
  return 0;
}
