#include <torch/csrc/jit/api/module.h>

#include "cupel/core/error.h"
#include "module_class.h"
#include "module_tree.h"

namespace cupel::libtorch_detail {
namespace {

std::string class_of_script(const torch::jit::Module& module) {
  const auto name = module.type()->name();
  return class_of(name ? name->name() : "");
}

}  // namespace

ModuleTree tree_of(const torch::jit::Module& root) try {
  ModuleTree tree;
  for (const auto& each : root.named_modules()) {
    const torch::jit::Module& module = each.value;
    ModuleNode& node = tree.nodes.emplace_back(ModuleNode{
        each.name, class_of_script(module), static_cast<const void*>(module._ivalue().get()), {}});
    for (const auto& parameter : module.named_parameters(/*recurse=*/false))
      node.parameters.push_back({parameter.name, parameter.value});
  }
  // Held, so that no other module comes to have these identities.
  tree.is_gone = [object = root._ivalue()] { return object == nullptr; };
  return tree;
} catch (const c10::Error& error) {  // such as a module that was never loaded
  const std::string_view what = error.what_without_backtrace();
  throw UsageError("register_module: the TorchScript module cannot be read: " +
                   std::string(what.substr(0, what.find('\n'))));
}

}  // namespace cupel::libtorch_detail
