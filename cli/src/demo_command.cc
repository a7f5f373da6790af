#include <cstdint>
#include <limits>
#include <memory>

#include "command_line.h"
#include "demo.h"
#include "demo_torch.h"

namespace cupel {

void add_demo(command_detail::CommandLine& line) {
  using command_detail::CommandContext;
  const auto options = std::make_shared<DemoOptions>();
  const auto with_torch = std::make_shared<bool>(false);
  line.add_example("demo", "see it work");
  CLI::App* app = line.add("demo", "Train three small networks and judge them while they train",
                           "  % demo\n  % demo /tmp/demo --seed 7\n  % demo --torch",
                           [options, with_torch](const CommandContext& context) {
                             if (*with_torch)
                               options->torch_program = demo::torch_program_beside_this();
                             return run_demo(*options, context);
                           });
  app->add_option("DIR", options->directory, "the directory of the runs")->capture_default_str();
  app->add_option("--seed", options->seed, "the seed of everything that is random")
      ->capture_default_str()
      ->transform(command_detail::whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  app->add_flag("--torch", *with_torch,
                "have libtorch train convolution networks, in the program cupel-demo-torch");
}

}  // namespace cupel
