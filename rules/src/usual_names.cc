// Patterns for the names that tensors have by profile:
//   PyTorch, Generic  <module>_input_<k>, <module>_output_<k>; of the root its class: Net_input_0
//   MXNet             <block>_input_<k>, <block>_output_<k>: hybridsequential0_relu0_output_0
//   TensorFlow        <layer>/inputs, <layer>/outputs, with _<k> if several; model_input
//   users             relu1_output, tower/relu_input, images, tokens
// Entries are tried in order, so the more certain ones come first. Gradients, and names that only
// contain such a word (leaky_relu, hardtanh, token_type_embeddings), are left out. XGBoost has no
// layers, and none of its names matches.

#include "usual_names.h"

namespace cupel::rules_detail {
namespace {

std::vector<FallbackNames> unless_reference(Definitions edition, std::vector<FallbackNames> names) {
  if (edition == Definitions::Reference) names.clear();
  return names;
}

}  // namespace

std::string usual_names_page(Definitions edition, std::string_view names) {
  if (edition == Definitions::Reference) return {};
  return R"(
The default pattern is the published one. In a run without any tensor that it matches, the rule
judges)" +
         std::string(names) + R"(. At each step, the names that were saved up to that step decide.
These names do not count where a pattern is given, and in a configuration in the form of SageMaker
Debugger.
)";
}

std::vector<FallbackNames> relu_outputs(Definitions edition) {
  return unless_reference(
      edition,
      {{.patterns = R"((?i)^(?!gradient).*(?<!p|eaky|eaky_)re_?lu\w*[_/.]outputs?(_[0-9]+)?$)"},
       // Names that leave the function of a module open.
       {.patterns = R"((?i)^(?!gradient)(.*[_/.])?act(ivations?)?(_?fn)?_?[0-9]*)"
                    R"([_/.]outputs?(_[0-9]+)?$)"},
       // Adapters list outputs of activations in a collection, body.0_output_0 too.
       {.patterns =
            R"((?i)^(?!gradient|.*(elu|silu|swish|mish|tanh|sigmoid|soft)).*_output_[0-9]+$)",
        .collections = {"activations"}}});
}

std::vector<FallbackNames> tanh_and_sigmoid_inputs(Definitions edition) {
  return unless_reference(
      edition,
      {{.patterns = R"((?i)^(?!gradient).*(?<!hard|hard_|log|log_)(tanh(?!shrink)|sigmoid))"
                    R"(\w*[_/.]inputs?(_[0-9]+)?$)"}});
}

std::vector<FallbackNames> input_images(Definitions edition) {
  constexpr std::size_t kBatchOfImages = 4;
  return unless_reference(
      edition,
      {{.patterns = R"((?i)^(?!gradient|average_shap|feature_imp)(.*[_/.])?)"
                    R"((images?|pixel_values)(_[0-9]+)?$)",
        .least_rank = kBatchOfImages},
       // The input of the network. Classes begin with a capital letter, blocks end in a number.
       {.patterns = {R"(^(?!\w*Loss_)[A-Z][A-Za-z0-9]*(_[0-9])?_input_0$)",
                     R"(^((model|net|network)_)?inputs?(_0)?$)",
                     R"(^[a-z]*(net|sequential|model)[a-z0-9]*_input_0$)"},
        .least_rank = kBatchOfImages},
       // The input of the first convolution: conv1 where there is none before it.
       {.patterns = R"(^([a-z0-9]*0_)?(conv(2d)?_?0?|features[.]0|0)[_/]inputs?(_0)?$)",
        .least_rank = kBatchOfImages},
       {.patterns = R"(^conv_?1[_/]inputs?(_0)?$)", .least_rank = kBatchOfImages}});
}

std::vector<FallbackNames> token_sequences(Definitions edition) {
  return unless_reference(
      edition,
      {{.patterns =
            R"((?i)^(?!gradient|.*(type|segment|pos(it|_)|patch|image|time|class|label|rotary)).*)"
            R"((^|[_/.])(emb(ed(der|ding)?s?)?(_tokens?|_in)?|wte)_?[0-9]*)"
            R"([_/.]inputs?(_[0-9]+)?$)"},
       {.patterns = R"((?i)^(?!gradient|average_shap|feature_imp)(.*[_/.])?)"
                    R"((input_ids|token_ids|tokens?)(_[0-9]+)?$)"}});
}

std::vector<FallbackNames> activation_inputs(Definitions edition) {
  return unless_reference(
      edition,
      {{.patterns = R"((?i)^(?!gradient).*re_?lu\w*[_/.]inputs?(_[0-9]+)?$)"},
       {.patterns = R"((?i)^(?!gradient)(.*[_/.])?(act(ivations?)?(_?fn)?|[a-z]*elu|silu|mish|)"
                    R"(softplus|(hard_?)?(swish|tanh|sigmoid))_?[0-9]*[_/.]inputs?(_[0-9]+)?$)"}});
}

}  // namespace cupel::rules_detail
