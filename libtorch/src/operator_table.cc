// The operators that the listener knows, and which of their arguments are a module's inputs and
// parameters.
//
// Names and positions are those of torch's schemas; they are the same for all overloads of a name
// in 1.13 and 2.13. Arguments that neither mask has (running statistics, the `out` of other
// overloads, weights of classes) are no inputs. A hash table that the compiler fills finds a row;
// any thread may search, and nothing fails.

#include "operator_table.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cupel::libtorch_detail {
namespace {

using enum OperatorKind;

template <typename... Positions>
constexpr std::uint32_t arguments(Positions... positions) {
  return (std::uint32_t{0} | ... | (std::uint32_t{1} << positions));
}

constexpr OperatorRow activation(std::string_view name) {
  return {name, name, Activation, arguments(0), 0};
}
constexpr OperatorRow loss(std::string_view name, std::string_view label, std::uint32_t values) {
  return {name, label, Loss, values, 0};
}

constexpr std::array rows = {
    OperatorRow{"linear", {}, Product, arguments(0), arguments(1, 2)},
    // (bias, input, weight), and seldom (bias, weight, input).
    OperatorRow{"addmm", {}, Product, arguments(1, 2), arguments(0, 2)},
    OperatorRow{"baddbmm", {}, Product, arguments(1, 2), arguments(0, 2)},
    OperatorRow{"matmul", {}, Product, arguments(0, 1), arguments(0, 1)},
    OperatorRow{"mm", {}, Product, arguments(0, 1), arguments(0, 1)},
    OperatorRow{"bmm", {}, Product, arguments(0, 1), arguments(0, 1)},
    OperatorRow{"bilinear", {}, Product, arguments(0, 1), arguments(2, 3)},
    OperatorRow{"conv1d", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"conv2d", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"conv3d", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"conv_transpose1d", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"conv_transpose2d", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"conv_transpose3d", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"convolution", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"_convolution", {}, Product, arguments(0), arguments(1, 2)},
    OperatorRow{"batch_norm", {}, Normalisation, arguments(0), arguments(1, 2)},
    OperatorRow{"instance_norm", {}, Normalisation, arguments(0), arguments(1, 2)},
    OperatorRow{"layer_norm", {}, Normalisation, arguments(0), arguments(2, 3)},
    OperatorRow{"group_norm", {}, Normalisation, arguments(0), arguments(2, 3)},
    OperatorRow{"rms_norm", {}, Normalisation, arguments(0), arguments(2)},
    OperatorRow{"_fused_rms_norm", {}, Normalisation, arguments(0), arguments(2)},
    OperatorRow{"_batch_norm_impl_index", {}, Normalisation, arguments(0), arguments(1, 2)},
    OperatorRow{"native_layer_norm", {}, Normalisation, arguments(0), arguments(2, 3)},
    OperatorRow{"embedding", {}, Embedding, arguments(1), arguments(0)},
    // Indices, offsets and weights of samples.
    OperatorRow{"embedding_bag", {}, Embedding, arguments(1, 2, 6), arguments(0)},
    // Query, key and value, or the source; and the mask.
    OperatorRow{"_native_multi_head_attention",
                {},
                FusedAttention,
                arguments(0, 1, 2, 9),
                arguments(5, 6, 7, 8)},
    OperatorRow{"_transformer_encoder_layer_fwd",
                {},
                FusedAttention,
                arguments(0, 18),
                arguments(3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16, 17)},
    // The input, the sizes of a packed sequence's batches, and the state; the list is behind them.
    OperatorRow{"lstm", {}, Recurrent, arguments(0, 1, 2), 0},
    OperatorRow{"gru", {}, Recurrent, arguments(0, 1, 2), 0},
    OperatorRow{"rnn_tanh", {}, Recurrent, arguments(0, 1, 2), 0},
    OperatorRow{"rnn_relu", {}, Recurrent, arguments(0, 1, 2), 0},
    OperatorRow{"lstm_cell", {}, OtherLayer, arguments(0, 1), arguments(2, 3, 4, 5)},
    OperatorRow{"gru_cell", {}, OtherLayer, arguments(0, 1), arguments(2, 3, 4, 5)},
    OperatorRow{"rnn_tanh_cell", {}, OtherLayer, arguments(0, 1), arguments(2, 3, 4, 5)},
    OperatorRow{"rnn_relu_cell", {}, OtherLayer, arguments(0, 1), arguments(2, 3, 4, 5)},
    OperatorRow{"prelu", {}, OtherLayer, arguments(0), arguments(1)},

    activation("relu"),
    activation("gelu"),
    activation("silu"),
    activation("elu"),
    activation("leaky_relu"),
    activation("selu"),
    activation("tanh"),
    activation("sigmoid"),
    activation("softmax"),
    activation("log_softmax"),
    activation("softplus"),
    activation("hardtanh"),
    activation("hardsigmoid"),
    activation("hardswish"),
    activation("mish"),
    activation("relu6"),
    activation("celu"),
    activation("glu"),
    activation("log_sigmoid"),
    activation("hardshrink"),
    activation("softshrink"),
    activation("threshold"),
    activation("rrelu"),
    OperatorRow{"scaled_dot_product_attention", "scaled_dot_product_attention", Activation,
                arguments(0, 1, 2, 3), 0},

    loss("cross_entropy_loss", "CrossEntropyLoss", arguments(0, 1)),
    loss("nll_loss", "NLLLoss", arguments(0, 1)),
    loss("nll_loss_nd", "NLLLoss", arguments(0, 1)),
    loss("nll_loss2d", "NLLLoss", arguments(0, 1)),
    loss("mse_loss", "MSELoss", arguments(0, 1)),
    loss("l1_loss", "L1Loss", arguments(0, 1)),
    loss("smooth_l1_loss", "SmoothL1Loss", arguments(0, 1)),
    loss("huber_loss", "HuberLoss", arguments(0, 1)),
    loss("binary_cross_entropy", "BCELoss", arguments(0, 1)),
    loss("binary_cross_entropy_with_logits", "BCEWithLogitsLoss", arguments(0, 1)),
    loss("kl_div", "KLDivLoss", arguments(0, 1)),
    // Lengths are tensors in one of the overloads.
    loss("ctc_loss", "CTCLoss", arguments(0, 1, 2, 3)),
    loss("poisson_nll_loss", "PoissonNLLLoss", arguments(0, 1)),
    loss("cosine_embedding_loss", "CosineEmbeddingLoss", arguments(0, 1, 2)),
    loss("hinge_embedding_loss", "HingeEmbeddingLoss", arguments(0, 1)),
    loss("margin_ranking_loss", "MarginRankingLoss", arguments(0, 1, 2)),
    loss("multi_margin_loss", "MultiMarginLoss", arguments(0, 1)),
    loss("multilabel_margin_loss", "MultiLabelMarginLoss", arguments(0, 1)),
    loss("soft_margin_loss", "SoftMarginLoss", arguments(0, 1)),
    loss("triplet_margin_loss", "TripletMarginLoss", arguments(0, 1, 2)),

    OperatorRow{"add", {}, Addition, arguments(0, 1), 0},
};

constexpr std::size_t hash(std::string_view name) {
  std::uint32_t value = 2166136261;
  for (const char letter : name)
    value = (value ^ static_cast<unsigned char>(letter)) * std::uint32_t{16777619};
  return value ^ (value >> 15);
}

// A row's number + 1 at its hash, or behind where others are; 0 is free.
constexpr std::size_t slot_count = 512;
constexpr auto slots = [] {
  std::array<std::uint8_t, slot_count> filled{};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::size_t slot = hash(rows[row].name) % slot_count;
    while (filled[slot] != 0) slot = (slot + 1) % slot_count;
    filled[slot] = static_cast<std::uint8_t>(row + 1);
  }
  return filled;
}();
static_assert(rows.size() < 255);

}  // namespace

std::span<const OperatorRow> operator_rows() noexcept { return rows; }

const OperatorRow* find_operator(std::string_view name) noexcept {
  constexpr std::string_view space = "aten::";
  if (!name.starts_with(space)) return nullptr;
  name.remove_prefix(space.size());
  const bool in_place = name.ends_with('_');
  if (in_place) name.remove_suffix(1);
  for (std::size_t slot = hash(name) % slot_count; slots[slot] != 0;
       slot = (slot + 1) % slot_count) {
    const OperatorRow& row = rows[slots[slot] - std::size_t{1}];
    if (row.name != name) continue;
    const bool may_be_in_place = row.kind == Activation || row.kind == Addition;
    return in_place && !may_be_in_place ? nullptr : &row;
  }
  return nullptr;
}

}  // namespace cupel::libtorch_detail
