#include <iostream>
#include <string>
#include <vector>

#include "run_cli.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return cupel::run_cli(arguments, std::cout, std::cerr);
}
