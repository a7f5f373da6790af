// The rules by which an operator becomes a module's inputs and outputs.
//
// An operator of a layer is the module of a parameter in whose memory one of its arguments lies:
// first at the positions of weights, then anywhere; a weight goes before a bias, whose module may
// be a wider one (attention's in_proj_bias). Outputs wait for the next operator, because nn::Linear
// adds its bias to the product. Runs on the thread of the operator, with the capture's lock held;
// what throws here (the receiver, no memory) loses values of one operator, and the capture logs it.

#include "layer_matcher.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

namespace cupel::libtorch_detail {
namespace {

using Values = std::span<const c10::IValue>;

// Calls `use` with each defined tensor of an argument: itself, or the elements of a list.
template <typename Use>
void for_each_tensor(const c10::IValue& value, const Use& use) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined()) use(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, use);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) for_each_tensor(element, use);
  }
}

template <typename Use>
void for_each_tensor(Values inputs, std::uint32_t positions, const Use& use) {
  for (; positions != 0; positions &= positions - 1) {
    const auto position = static_cast<std::size_t>(std::countr_zero(positions));
    if (position >= inputs.size()) return;
    for_each_tensor(inputs[position], use);
  }
}

// The arguments that hold parameters and those in front of them that are values.
struct Positions {
  std::uint32_t values, weights;
};

Positions positions_of(const OperatorRow& row, Values inputs) {
  if (row.kind != OperatorKind::Recurrent) return {row.values, row.weights};
  std::size_t last = 0;
  for (std::size_t position = 1; position < std::min<std::size_t>(inputs.size(), 4); ++position)
    if (inputs[position].isTensorList()) last = position;
  const std::uint32_t bit = std::uint32_t{1} << last;
  return {row.values & (bit - 1), bit};
}

// The longest path that both have in front; `root` stands for none.
std::string_view common_path(std::string_view a, std::string_view b, std::string_view root) {
  if (a == root || b == root) return root;
  const auto ends = std::ranges::mismatch(a, b);
  auto length = static_cast<std::size_t>(ends.in1 - a.begin());
  const auto is_border = [](std::string_view path, std::size_t end) {
    return end == path.size() || path[end] == '.';
  };
  while (length > 0 && !(is_border(a, length) && is_border(b, length))) --length;
  return length == 0 ? root : a.substr(0, length);
}

void deliver(const MatchContext& context, std::string_view label, std::string_view owner,
             CapturedValues::Kind kind, OperatorKind operator_kind, CapturedValues::Side side,
             const c10::SmallVectorImpl<at::Tensor>& tensors) {
  const c10::NoGradGuard no_gradients;
  CapturedValues values;
  values.module = label;
  values.owner = owner;
  values.side = side;
  values.kind = kind;
  values.operator_kind = operator_kind;
  values.tensors = {tensors.data(), tensors.size()};
  context.receiver(values);
}

}  // namespace

struct LayerMatcher::Found {
  const ParameterOwner* owner = nullptr;
  std::string_view common_module;  // of all parameters
  bool has_bias = false;
};

LayerMatcher::Found LayerMatcher::find_owner(const MatchContext& context, const OperatorRow& row,
                                             Values inputs) {
  Found found;
  const auto consider = [&](const at::Tensor& tensor) {
    const ParameterOwner* owner = context.parameters.find(tensor);
    if (owner == nullptr) return;
    found.has_bias |= owner->is_bias;
    found.common_module = found.owner == nullptr
                              ? std::string_view(owner->module)
                              : common_path(found.common_module, owner->module, owner->root);
    if (found.owner == nullptr || (found.owner->is_bias && !owner->is_bias)) found.owner = owner;
  };
  const Positions positions = positions_of(row, inputs);
  for_each_tensor(inputs, positions.weights, consider);
  if (found.owner == nullptr) for_each_tensor(inputs, positions.values, consider);
  return found;
}

bool LayerMatcher::begin(MatchContext& context, const OperatorRow* row, Values inputs) {
  running_ = Running::Nothing;
  if (has_pending()) {
    if (row != nullptr && row->kind == OperatorKind::Addition && adds_bias(context, inputs)) {
      running_ = Running::Bias;
      return true;
    }
    flush(context);
  }
  if (row == nullptr || row->kind == OperatorKind::Addition) return false;
  const bool begun =
      row->is_layer() ? begin_layer(context, *row, inputs) : begin_other(context, *row, inputs);
  if (begun) running_ = Running::Operator;
  return begun;
}

bool LayerMatcher::adds_bias(const MatchContext& context, Values inputs) const {
  if (pending_.takes_bias_of == nullptr || pending_.tensors.size() != 1 || inputs.size() < 2 ||
      !inputs[0].isTensor() || !inputs[1].isTensor())
    return false;
  const auto is_bias = [&](const at::Tensor& sum, const at::Tensor& bias) {
    if (!sum.is_same(pending_.tensors[0])) return false;
    const ParameterOwner* owner = context.parameters.find(bias);
    return owner != nullptr && owner->same_module_as(*pending_.takes_bias_of);
  };
  return is_bias(inputs[0].toTensor(), inputs[1].toTensor()) ||
         is_bias(inputs[1].toTensor(), inputs[0].toTensor());
}

bool LayerMatcher::begin_layer(MatchContext& context, const OperatorRow& row, Values inputs) {
  if (!context.options.layers) return false;
  Found found = find_owner(context, row, inputs);
  if (found.owner == nullptr && !context.is_fresh) {
    context.is_fresh = true;
    if (context.parameters.refresh()) found = find_owner(context, row, inputs);
  }
  if (found.owner == nullptr) return false;

  Tensors values;
  bool all_values = true;
  for_each_tensor(inputs, positions_of(row, inputs).values, [&](const at::Tensor& tensor) {
    if (context.parameters.find(tensor) == nullptr)
      values.push_back(tensor);
    else
      all_values = false;
  });
  if (values.empty()) return false;  // arithmetic on parameters
  // A product that was found by its bias alone: its weight is computed (weight_norm), and no input.
  if (row.kind == OperatorKind::Product && (row.values & row.weights) != 0 && all_values)
    values.resize(1);

  const bool is_fused = row.kind == OperatorKind::FusedAttention;
  operator_.label = is_fused ? &context.labels.label(found.common_module) : found.owner->label;
  operator_.owner = is_fused ? *operator_.label : std::string_view(found.owner->module);
  operator_.kind = CapturedValues::Kind::Layer;
  operator_.operator_kind = row.kind;
  operator_.takes_bias_of =
      row.kind == OperatorKind::Product && !found.has_bias ? found.owner : nullptr;
  operator_.first_output_only =
      is_fused || row.kind == OperatorKind::Normalisation || row.kind == OperatorKind::Embedding;
  deliver(context, *operator_.label, operator_.owner, operator_.kind, row.kind,
          CapturedValues::Side::Inputs, values);
  return true;
}

bool LayerMatcher::begin_other(MatchContext& context, const OperatorRow& row, Values inputs) {
  const bool is_loss = row.kind == OperatorKind::Loss;
  if (!(is_loss ? context.options.losses : context.options.activations)) return false;
  const auto number = static_cast<std::size_t>(&row - operator_rows().data());
  if (context.row_labels.empty()) context.row_labels.resize(operator_rows().size());
  const std::string*& label = context.row_labels[number];
  if (label == nullptr) label = &context.labels.label(row.label);

  Tensors values;
  for_each_tensor(inputs, row.values, [&](const at::Tensor& tensor) { values.push_back(tensor); });
  if (values.empty()) return false;
  operator_.label = label;
  operator_.owner = {};
  operator_.kind = is_loss ? CapturedValues::Kind::Loss : CapturedValues::Kind::Activation;
  operator_.operator_kind = row.kind;
  operator_.takes_bias_of = nullptr;
  operator_.first_output_only = false;
  deliver(context, *label, {}, operator_.kind, row.kind, CapturedValues::Side::Inputs, values);
  return true;
}

void LayerMatcher::end(std::span<const c10::IValue> outputs) {
  const Running running = std::exchange(running_, Running::Nothing);
  if (running == Running::Nothing || outputs.empty()) return;  // a product whose bias failed stands
  Tensors tensors;
  const auto keep = [&](const at::Tensor& tensor) { tensors.push_back(tensor); };
  const Capture& captured = running == Running::Bias ? pending_ : operator_;
  const std::size_t count = captured.first_output_only ? 1 : outputs.size();
  for (std::size_t k = 0; k < count; ++k) for_each_tensor(outputs[k], keep);
  if (running == Running::Operator) pending_ = operator_;
  if (running == Running::Bias) pending_.takes_bias_of = nullptr;
  pending_.tensors = std::move(tensors);
}

void LayerMatcher::flush(MatchContext& context) {
  if (!has_pending()) return;
  const Tensors tensors = std::exchange(pending_.tensors, {});
  deliver(context, *pending_.label, pending_.owner, pending_.kind, pending_.operator_kind,
          CapturedValues::Side::Outputs, tensors);
}

}  // namespace cupel::libtorch_detail
