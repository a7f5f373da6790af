#include "command_main.h"
#include "run_cli.h"

int main(int argc, char** argv) {
  return cupel::command_detail::command_main(argc, argv, cupel::cupel_program());
}
