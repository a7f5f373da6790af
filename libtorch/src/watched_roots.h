#pragma once

#include <ATen/core/Tensor.h>

#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "module_class.h"
#include "module_tree.h"

namespace cupel::libtorch_detail {

// A module of a root, by the name that its inputs and outputs have.
struct NamedModule {
  std::string name;
  ModuleRole role;
  bool is_in_attention = false;  // it is an attention module or below one
};

struct NamedParameter {
  std::string name;      // "Net_fc.weight"
  std::string own_name;  // "weight"
  std::size_t module;    // the index of its module
  at::Tensor tensor;
};

struct NamedRoot {
  std::string name;
  std::string wanted_name;  // differs where another root has that name
  std::vector<NamedModule> modules;
  std::vector<NamedParameter> parameters;  // those that no root has so far
};

// The roots of a watch, and the names of all that is below them. One thread.
class WatchedRoots {
 public:
  // Names a root and all below it. Throws UsageError if it shares itself with another root.
  NamedRoot add(ModuleTree tree, std::string_view name);

 private:
  struct Root {
    std::string name;
    ModuleTree tree;
  };
  void forget_destroyed();
  void check_apart(const ModuleTree& tree, std::string_view name) const;
  std::string free_name(const std::string& wanted) const;

  std::vector<Root> roots_;
  std::set<std::string, std::less<>> names_;  // of roots and modules
  std::set<std::string, std::less<>> parameter_names_;
  std::unordered_set<const void*> parameters_;
};

}  // namespace cupel::libtorch_detail
