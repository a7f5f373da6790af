#include <torch/nn/module.h>

#include "module_class.h"
#include "module_tree.h"

namespace cupel::libtorch_detail {

ModuleTree tree_of(torch::nn::Module& root) {
  ModuleTree tree;
  // named_modules() would need a root that a shared_ptr owns.
  const torch::nn::Module::NamedModuleApplyFunction add = [&](const std::string& path,
                                                              torch::nn::Module& module) {
    ModuleNode& node = tree.nodes.emplace_back(
        ModuleNode{path, class_of(module.name()), static_cast<const void*>(&module), {}});
    for (const auto& parameter : module.named_parameters(/*recurse=*/false))
      node.parameters.push_back({parameter.key(), parameter.value()});
  };
  root.apply(add);
  const std::weak_ptr<torch::nn::Module> owned = root.weak_from_this();
  const bool has_owner = !owned.expired();
  tree.is_gone = [owned, has_owner] { return has_owner && owned.expired(); };
  return tree;
}

}  // namespace cupel::libtorch_detail
