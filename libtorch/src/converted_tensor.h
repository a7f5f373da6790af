#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "cupel/core/tensor_view.h"

namespace cupel::libtorch_detail {

// The values of a torch tensor as cupel saves them: a view of the tensor itself where it is a
// strided one of the CPU, else of a copy that is held here. The tensor must stay while the view is
// used.
class ConvertedTensor {
 public:
  // Errors of torch become a defect. What other functions throw leaves, such as std::bad_alloc.
  explicit ConvertedTensor(const at::Tensor& tensor);

  const TensorView& view() const noexcept { return view_; }
  // Why there is no view, as a phrase; empty if there is one.
  const std::string& defect() const noexcept { return defect_; }

 private:
  void take(const at::Tensor& tensor);
  void convert(at::Tensor tensor);
  void set_view(const at::Tensor& tensor);

  at::Tensor held_;
  TensorView view_;
  std::string defect_;
};

}  // namespace cupel::libtorch_detail
