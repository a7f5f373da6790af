#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operator_capture.h"
#include "operator_table.h"
#include "parameter_table.h"

namespace cupel::libtorch_detail {

/// What the matchers of a capture share.
struct MatchContext {
  OperatorCapture::Options options;
  OperatorCapture::Receiver receiver;
  ParameterTable parameters;
  LabelTable labels;
  /// The labels of activations and losses by the number of the row; filled as they come.
  std::vector<const std::string*> row_labels;
  /// Whether `parameters` have been refreshed since listening began.
  bool is_fresh = false;
};

/// Turns the outermost operators of one thread, as they begin and end, into values of modules.
///
/// One operator is running at most, and the outputs of one are pending: they are delivered when the
/// next operator begins, unless it adds a bias to them. The caller holds the lock of the context,
/// and catches what the receiver or the memory throws; the matcher is of use afterwards.
class LayerMatcher {
 public:
  /// `row` is null for an operator that is not known. Returns whether end() wants its outputs.
  bool begin(MatchContext& context, const OperatorRow* row, std::span<const c10::IValue> inputs);
  /// Outputs are empty when the operator threw.
  void end(std::span<const c10::IValue> outputs);
  bool has_pending() const noexcept { return !pending_.tensors.empty(); }
  /// Delivers what is pending.
  void flush(MatchContext& context);

 private:
  using Tensors = c10::SmallVector<at::Tensor, 4>;
  struct Capture {
    const std::string* label = nullptr;
    std::string_view owner;  // as of CapturedValues
    CapturedValues::Kind kind = CapturedValues::Kind::Layer;
    OperatorKind operator_kind = OperatorKind::OtherLayer;
    /// The module of a product that has had no bias yet; else null.
    const ParameterOwner* takes_bias_of = nullptr;
    bool first_output_only = false;
    Tensors tensors;  ///< The outputs, when they are pending.
  };
  struct Found;
  static Found find_owner(const MatchContext& context, const OperatorRow& row,
                          std::span<const c10::IValue> inputs);
  bool adds_bias(const MatchContext& context, std::span<const c10::IValue> inputs) const;
  bool begin_layer(MatchContext& context, const OperatorRow& row,
                   std::span<const c10::IValue> inputs);
  bool begin_other(MatchContext& context, const OperatorRow& row,
                   std::span<const c10::IValue> inputs);

  enum class Running { Nothing, Operator, Bias } running_ = Running::Nothing;
  Capture operator_;  // that is running
  Capture pending_;
};

}  // namespace cupel::libtorch_detail
