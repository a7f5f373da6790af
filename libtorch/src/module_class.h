#pragma once

#include <string>
#include <string_view>

namespace cupel::libtorch_detail {

// The class of a module without namespaces, template arguments and the suffix `Impl`: "Net" of
// "my::NetImpl<float>".
std::string class_of(std::string_view type);

// What a class is by its name, as far as rules ask for it.
struct ModuleRole {
  bool is_norm = false;
  bool is_embedding = false;
  bool is_activation = false;
  bool is_attention = false;
  // The class is a layer of torch that is none of these, so that operators need not be asked.
  bool is_other_layer = false;

  bool is_known() const noexcept {
    return is_norm || is_embedding || is_activation || is_attention || is_other_layer;
  }
};
ModuleRole role_of(std::string_view class_name) noexcept;

}  // namespace cupel::libtorch_detail
