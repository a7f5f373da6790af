#include <cstdint>
#include <limits>
#include <memory>

#include "command_line.h"
#include "demo.h"

namespace cupel {

void add_demo(command_detail::CommandLine& line) {
  using command_detail::CommandContext;
  const auto options = std::make_shared<DemoOptions>();
  line.add_example("demo", "see it work");
  CLI::App* app =
      line.add("demo", "Train three small networks and judge them while they train",
               "  % demo\n  % demo /tmp/demo --seed 7",
               [options](const CommandContext& context) { return run_demo(*options, context); });
  app->add_option("DIR", options->directory, "the directory of the runs")->capture_default_str();
  app->add_option("--seed", options->seed, "the seed of everything that is random")
      ->capture_default_str()
      ->transform(command_detail::whole_number(0, std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace cupel
