// Trains a convolution network on digits that the program draws itself, while cupel watches: the
// network names no tensor and saves none.
//
// usage: libtorch_mnist [DIR] [--steps N] [--seed N] [--sick vanishing|exploding|dead-relu]
//
// DIR is runs/digits if not given. The program uses one thread and draws everything random from
// the seed, so that two runs are the same. With --sick, a mistake is built in: ten layers of
// sigmoids behind the convolutions, the wrong sign of the loss, so that the training climbs without
// end, or biases so low that no ReLU is ever active. The training ends early where somebody has
// asked the run to stop. Exit code 2: a mistake in the command line, or a run that cannot be saved.

#include <torch/torch.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/libtorch/watch.h"
#include "cupel/writer/hook.h"

namespace {

constexpr std::int64_t kDigits = 10;
constexpr std::int64_t kSide = 16;  // pixels of an image
constexpr std::int64_t kBatch = 64;

// 0 to 9, five columns and seven rows each.
constexpr std::int64_t kGlyphRows = 7;
constexpr std::int64_t kGlyphColumns = 5;
constexpr std::array<std::string_view, kGlyphRows> kGlyphs = {
    " ###    #    ###  #####    #  #####   ##  #####  ###   ### ",
    "#   #  ##   #   #    #    ##  #      #        # #   # #   #",
    "#  ##   #       #   #    # #  ####  #        #  #   # #   #",
    "# # #   #      #     #  #  #      # ####    #    ###   ####",
    "##  #   #     #       # #####     # #   #  #    #   #     #",
    "#   #   #    #    #   #    #  #   # #   #  #    #   #    # ",
    " ###   ###  #####  ###     #   ###   ###   #     ###   ##  "};

// The command line.
struct Settings {
  std::string directory = "runs/digits";
  std::uint64_t steps = 300;
  std::uint64_t seed = 1;
  std::string sick;  // empty: healthy
};

struct Digits {
  torch::Tensor images;  // (count, 1, 16, 16), of mean 0 and standard deviation 1
  torch::Tensor labels;  // (count)
};

torch::Tensor draw_glyphs() {
  torch::Tensor glyphs = torch::zeros({kDigits, 1, kGlyphRows, kGlyphColumns});
  for (std::int64_t digit = 0; digit < kDigits; ++digit)
    for (std::int64_t row = 0; row < kGlyphRows; ++row)
      for (std::int64_t column = 0; column < kGlyphColumns; ++column) {
        const auto at = static_cast<std::size_t>(digit * (kGlyphColumns + 1) + column);
        if (kGlyphs[static_cast<std::size_t>(row)][at] == '#') glyphs[digit][0][row][column] = 1;
      }
  return glyphs;
}

// Draws digits of different size, somewhere in the image, in noise.
Digits draw_digits(std::int64_t count) {
  namespace F = torch::nn::functional;
  const torch::Tensor labels = torch::randint(kDigits, {count}, torch::kLong);
  const torch::Tensor height = 1.1 + 0.5 * torch::rand({count});  // of the image, in glyphs
  const torch::Tensor width = height * kGlyphRows / kGlyphColumns;
  const auto shift = [count] { return 1.2 * torch::rand({count}) - 0.6; };
  torch::Tensor placed = torch::zeros({count, 2, 3});
  placed.select(1, 0).select(1, 0).copy_(width);
  placed.select(1, 1).select(1, 1).copy_(height);
  placed.select(1, 0).select(1, 2).copy_((width - 1) * shift());
  placed.select(1, 1).select(1, 2).copy_((height - 1) * shift());
  const torch::Tensor grid = F::affine_grid(placed, {count, 1, kSide, kSide}, false);
  const torch::Tensor drawn =
      F::grid_sample(draw_glyphs().index_select(0, labels), grid,
                     F::GridSampleFuncOptions().padding_mode(torch::kZeros).align_corners(false));
  const torch::Tensor noisy = drawn + 0.15 * torch::randn_like(drawn);
  return {(noisy - noisy.mean()) / noisy.std(), labels};
}

Digits draw_batch(const Digits& digits) {
  const torch::Tensor chosen = torch::randint(digits.labels.size(0), {kBatch}, torch::kLong);
  return {digits.images.index_select(0, chosen), digits.labels.index_select(0, chosen)};
}

struct NetImpl : torch::nn::Module {
  // `sigmoids` is the number of layers with a sigmoid in front of the last layer.
  explicit NetImpl(std::int64_t sigmoids) {
    for (std::int64_t i = 0; i < sigmoids; ++i) {
      deep->push_back(torch::nn::Linear(kWidth, kWidth));
      deep->push_back(torch::nn::Sigmoid());
    }
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    x = torch::relu(fc1(x.flatten(1)));
    return fc2(deep->is_empty() ? x : deep->forward(x));
  }

  static constexpr std::int64_t kWidth = 32;
  torch::nn::Conv2d conv1 =
      register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 3).padding(1)));
  torch::nn::Conv2d conv2 =
      register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 3).padding(1)));
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(kSide* kSide, kWidth));
  torch::nn::Sequential deep = register_module("deep", torch::nn::Sequential());
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(kWidth, kDigits));
};
TORCH_MODULE(Net);

Net make_net(const Settings& settings) {
  Net net(settings.sick == "vanishing" ? 10 : 0);
  if (settings.sick == "dead-relu") {
    const torch::NoGradGuard no_gradients;
    for (const torch::Tensor& bias : {net->conv1->bias, net->conv2->bias, net->fc1->bias})
      bias.fill_(-20);
  }
  return net;
}

// One step of gradient descent; returns the loss before it. `sign` is 1, or by mistake -1.
double train(Net& net, torch::optim::Optimizer& optimizer, const Digits& batch, double sign) {
  optimizer.zero_grad();
  const torch::Tensor loss = torch::cross_entropy_loss(net(batch.images), batch.labels);
  (sign * loss).backward();
  optimizer.step();
  return loss.item<double>();
}

// The share of the digits that the network recognises.
double accuracy(Net& net, const Digits& digits) {
  const torch::NoGradGuard no_gradients;
  return net(digits.images).argmax(1).eq(digits.labels).to(torch::kDouble).mean().item<double>();
}

int train(const Settings& settings) {
  torch::set_num_threads(1);
  torch::manual_seed(settings.seed);
  const Digits digits = draw_digits(2000);
  const Digits held_out = draw_digits(200);
  Net net = make_net(settings);
  const double sign = settings.sick == "exploding" ? -1 : 1;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));

  cupel::HookOptions options{.out_dir = settings.directory,
                             .existing = cupel::Existing::Replace,
                             .include_collections = {"weights", "gradients", "activations"}};
  options.save_config.save_interval = 10;
  cupel::Hook hook(options);
  cupel::libtorch::Watch watch(hook);
  watch.register_module(*net);

  std::cout << "training on digits, saved in " << settings.directory << std::endl;
  hook.set_mode(cupel::Mode::Train);
  for (std::uint64_t i = 0; i < settings.steps && !hook.stop_requested(); ++i) {
    watch.next_step();
    hook.save_scalar("loss", train(net, optimizer, draw_batch(digits), sign));
  }
  hook.set_mode(cupel::Mode::Eval);
  watch.next_step();
  hook.save_scalar("accuracy", accuracy(net, held_out));
  const cupel::HookReport report = hook.close();

  std::cout << "saved " << report.tensors_saved << " tensors at " << report.steps_committed
            << " steps\n";
  for (const std::string& problem : report.problems)
    std::cerr << "libtorch_mnist: " << problem << '\n';
  return report.disabled ? 2 : 0;
}

std::uint64_t number(const std::string& option, const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end)
    throw cupel::UsageError(option + " takes a whole number of at least 0, and not " + text);
  return value;
}

Settings read_settings(const std::vector<std::string>& arguments) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--")) {
      settings.directory = argument;
      continue;
    }
    if (i + 1 == arguments.size()) throw cupel::UsageError(argument + " takes a value");
    const std::string& value = arguments[++i];
    if (argument == "--steps") {
      settings.steps = number(argument, value);
    } else if (argument == "--seed") {
      settings.seed = number(argument, value);
    } else if (argument == "--sick") {
      if (value != "vanishing" && value != "exploding" && value != "dead-relu")
        throw cupel::UsageError("--sick takes vanishing, exploding or dead-relu, and not " + value);
      settings.sick = value;
    } else {
      throw cupel::UsageError("unknown option " + argument);
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return train(read_settings(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    std::cerr << "libtorch_mnist: " << error.what() << '\n';
    return 2;
  }
}
