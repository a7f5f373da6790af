#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}
namespace torch::jit {
struct Module;
}

namespace cupel::libtorch_detail {

// A parameter by the name that its own module gives it.
struct OwnParameter {
  std::string name;
  at::Tensor tensor;
};

struct ModuleNode {
  std::string path;                      // dotted, below the root; empty: the root
  std::string class_name;                // as class_of() returns it
  const void* identity;                  // the same for the same module
  std::vector<OwnParameter> parameters;  // without those of modules below
};

// A module and all modules below it, each before those below it. A module that is found in several
// places is there several times.
struct ModuleTree {
  std::vector<ModuleNode> nodes;
  // Whether the root has been destroyed, as far as that can be seen. If so, the identities mean
  // nothing any more.
  std::function<bool()> is_gone;
};

ModuleTree tree_of(torch::nn::Module& root);
ModuleTree tree_of(const torch::jit::Module& root);

}  // namespace cupel::libtorch_detail
