#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cupel::libtorch_detail {

/// The names under which values are delivered.
class LabelTable {
 public:
  /// The label of that name, made if there is none. It stays where it is as long as the table.
  const std::string& label(std::string_view name);

 private:
  std::set<std::string, std::less<>> labels_;
};

/// Where a parameter belongs.
struct ParameterOwner {
  std::string root;
  std::string module;  ///< The dotted path below the root; the root's name for the root itself.
  /// What is delivered: the module, with the stem of the parameter's name behind it unless the name
  /// is `weight`, `bias`, or begins with one of them and "_". `att.in_proj_weight` has
  /// `att.in_proj`.
  const std::string* label;
  bool is_bias;  ///< By its name.

  bool same_module_as(const ParameterOwner& other) const noexcept {
    return module == other.module && root == other.root;
  }
};

/// Finds the owner of the parameter whose memory a tensor lies in.
///
/// Several parameters may share one storage (flattened parameters): a view belongs to the one in
/// whose part of the storage it begins. Not for several threads at once.
class ParameterTable {
 public:
  /// A parameter that is in the table already keeps its first owner.
  void add(const at::Tensor& parameter, ParameterOwner owner);
  void clear() noexcept;

  /// The owner of the memory of `tensor`; nothing for tensors without storage too.
  const ParameterOwner* find(const at::Tensor& tensor) const noexcept;

  /// Finds the storages anew where parameters have got other data since. Returns whether any has.
  bool refresh();

 private:
  using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;
  struct Parameter {
    at::Tensor tensor;
    ParameterOwner owner;
    // It keeps the address, not the data: no later storage can be taken for this one.
    std::optional<WeakStorage> storage;
  };
  struct Part {  // of a storage, in bytes
    const c10::StorageImpl* storage;
    std::size_t begin, end;
    const ParameterOwner* owner;
  };
  static std::tuple<const c10::StorageImpl*, std::size_t> key_of(const Part& part) noexcept {
    return {part.storage, part.begin};
  }
  void insert_part(Parameter& parameter);

  std::deque<Parameter> parameters_;
  std::vector<Part> parts_;  // by storage and begin; parameters added first go first
};

}  // namespace cupel::libtorch_detail
