#include "module_class.h"

#include <algorithm>
#include <array>

namespace cupel::libtorch_detail {
namespace {

constexpr std::array<std::string_view, 28> kActivations = {
    "CELU",     "ELU",       "GELU",       "GLU",        "Hardshrink", "Hardsigmoid", "Hardswish",
    "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish",       "PReLU",       "RReLU",
    "ReLU",     "ReLU6",     "SELU",       "SiLU",       "Sigmoid",    "Softmax",     "Softmax2d",
    "Softmin",  "Softplus",  "Softshrink", "Softsign",   "Tanh",       "Tanhshrink",  "Threshold"};

// Layers with parameters, without the dimensions of each.
constexpr std::array<std::string_view, 10> kOtherLayers = {
    "Linear", "Bilinear", "Conv",     "ConvTranspose", "LSTM",
    "GRU",    "RNN",      "LSTMCell", "GRUCell",       "RNNCell"};

// The name without the dimensions or the version at its end: "BatchNorm2d", "FlashAttention2".
std::string_view without_number(std::string_view name) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string_view rest = name;
  if (rest.size() > 1 && rest.back() == 'd' && is_digit(rest[rest.size() - 2]))
    rest.remove_suffix(1);
  while (!rest.empty() && is_digit(rest.back())) rest.remove_suffix(1);
  return rest;
}

}  // namespace

std::string class_of(std::string_view type) {
  std::size_t begin = 0;
  int depth = 0;  // within arguments of a template or a function, or "(anonymous namespace)"
  for (std::size_t i = 0; i < type.size(); ++i) {
    const char c = type[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth == 0 && c == ':' && i > 0 && type[i - 1] == ':') begin = i + 1;
  }
  std::string_view name = type.substr(begin);
  name = name.substr(0, name.find('<'));
  constexpr std::string_view kSuffix = "Impl";
  if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name.empty() ? "Module" : std::string(name);
}

ModuleRole role_of(std::string_view class_name) noexcept {
  const std::string_view name = without_number(class_name);
  ModuleRole role;
  role.is_norm = name.ends_with("Norm");
  role.is_embedding =
      name.ends_with("Embedding") || name.ends_with("Embeddings") || name.ends_with("EmbeddingBag");
  role.is_activation = std::ranges::find(kActivations, class_name) != kActivations.end() ||
                       name.ends_with("Activation");
  role.is_attention = name.ends_with("Attention") || name.ends_with("Attn");
  role.is_other_layer = std::ranges::find(kOtherLayers, name) != kOtherLayers.end();
  return role;
}

}  // namespace cupel::libtorch_detail
