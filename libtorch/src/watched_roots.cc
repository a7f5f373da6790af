// Names of roots, modules and parameters. A root that is refused leaves everything as it was: names
// are made first, in copies, and kept last. Parameters are told apart by their objects, which
// whoever keeps NamedParameter keeps alive.

#include "watched_roots.h"

#include <algorithm>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/printable.h"

namespace cupel::libtorch_detail {
namespace {

const ModuleNode* find(const ModuleTree& tree, const void* identity) {
  const auto found = std::ranges::find(tree.nodes, identity, &ModuleNode::identity);
  return found == tree.nodes.end() ? nullptr : &*found;
}

std::string in_quotes(std::string_view name) { return "\"" + printable(name) + "\""; }

bool is_below(std::string_view path, std::string_view other) {
  return other.empty() ||
         (path.starts_with(other) && (path.size() == other.size() || path[other.size()] == '.'));
}

}  // namespace

void WatchedRoots::forget_destroyed() {
  for (Root& root : roots_)
    if (!root.tree.nodes.empty() && root.tree.is_gone()) root.tree.nodes.clear();
}

void WatchedRoots::check_apart(const ModuleTree& tree, std::string_view name) const {
  const ModuleNode& top = tree.nodes.front();
  for (const Root& root : roots_) {
    if (root.tree.nodes.empty()) continue;
    const std::string watched = in_quotes(root.name);
    if (const ModuleNode* const same = find(root.tree, top.identity)) {
      const std::string where =
          same->path.empty() ? "the root " : in_quotes(same->path) + " of the root ";
      throw UsageError("register_module: a module is watched already: " + in_quotes(name) + " is " +
                       where + watched);
    }
    if (const ModuleNode* const below = find(tree, root.tree.nodes.front().identity)) {
      throw UsageError("register_module: a module is watched already: " + in_quotes(below->path) +
                       " of " + in_quotes(name) + " is the root " + watched);
    }
  }
}

std::string WatchedRoots::free_name(const std::string& wanted) const {
  std::string name = wanted;
  for (int i = 1; names_.contains(name); ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

NamedRoot WatchedRoots::add(ModuleTree tree, std::string_view name) {
  forget_destroyed();
  NamedRoot root;
  root.wanted_name = name.empty() ? tree.nodes.front().class_name : std::string(name);
  check_apart(tree, root.wanted_name);
  root.name = free_name(root.wanted_name);

  std::set<std::string, std::less<>> names = names_;
  std::set<std::string, std::less<>> parameter_names = parameter_names_;
  std::unordered_set<const void*> parameters = parameters_;
  names.insert(root.name);
  const std::string* attention = nullptr;  // the path of the attention module passed last
  for (const ModuleNode& node : tree.nodes) {
    NamedModule module;
    module.name = node.path.empty() ? root.name : node.path;
    if (!node.path.empty() && names.contains(module.name))
      module.name = root.name + "." + node.path;
    while (!node.path.empty() && names.contains(module.name)) module.name += "_1";
    names.insert(module.name);
    module.role = role_of(node.class_name);
    if (module.role.is_attention && (attention == nullptr || !is_below(node.path, *attention)))
      attention = &node.path;
    module.is_in_attention = attention != nullptr && is_below(node.path, *attention);
    for (const OwnParameter& parameter : node.parameters) {
      if (!parameter.tensor.defined() ||
          !parameters.insert(parameter.tensor.unsafeGetTensorImpl()).second)
        continue;
      std::string full = root.name + "_";
      full += node.path.empty() ? parameter.name : node.path + "." + parameter.name;
      while (!parameter_names.insert(full).second) full += "_1";
      root.parameters.push_back(
          {std::move(full), parameter.name, root.modules.size(), parameter.tensor});
    }
    root.modules.push_back(std::move(module));
  }
  // The tree is needed for identities only; who keeps the parameters keeps them once.
  for (ModuleNode& node : tree.nodes) node.parameters.clear();
  roots_.reserve(roots_.size() + 1);
  roots_.push_back({root.name, std::move(tree)});
  names_ = std::move(names);
  parameter_names_ = std::move(parameter_names);
  parameters_ = std::move(parameters);
  return root;
}

}  // namespace cupel::libtorch_detail
