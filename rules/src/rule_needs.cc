#include "cupel/rules/rule_needs.h"

#include <algorithm>

namespace cupel {
namespace {

// Of several reductions that are one number, the one that is spoken of.
Reduction spoken(Reduction reduction) {
  if (reduction == Reduction{ReductionOp::L1, true} ||
      reduction == Reduction{ReductionOp::Sum, true})
    return {ReductionOp::L1, false};
  if (reduction == Reduction{ReductionOp::L2, true}) return {ReductionOp::L2, false};
  return reduction;
}

std::string text_of(const TensorSource& source, std::string_view value) {
  if (source.kind == TensorSource::Kind::Counts) return "counts";
  if (source.kind == TensorSource::Kind::Value) return std::string(value);
  std::string text;
  source.reductions.for_each([&](Reduction reduction) {
    text += (text.empty() ? "" : " and ") + std::string(to_string(spoken(reduction)));
  });
  return text;
}

// Each once, in order.
std::vector<std::string> texts_of(const std::vector<TensorSource>& sources,
                                  std::string_view value) {
  std::vector<std::string> texts;
  for (const TensorSource& source : sources) {
    std::string text = text_of(source, value);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  return texts;
}

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) text += separator;
    text += texts[i];
  }
  return text;
}

std::string modes_text(const std::vector<Mode>& modes) {
  std::string text;
  for (const Mode mode : modes) {
    if (!text.empty()) text += ", else ";
    text += mode == Mode::Global ? "all" : std::string(to_string(mode));
  }
  return text.empty() ? text : ", of the steps of " + text;
}

}  // namespace

TensorSource TensorSource::of(std::initializer_list<Reduction> together) {
  TensorSource source{Kind::Reductions, {}};
  for (const Reduction reduction : together) source.reductions.add(reduction);
  return source;
}

std::string NeededTensors::description() const {
  std::string text;
  if (!collections.empty())
    text += (collections.size() == 1 ? "the collection " : "the collections ") +
            joined(collections, ", ");
  std::string_view separator = text.empty() ? "" : " and ";
  for (const std::string& pattern : patterns.texts()) {
    text += separator;
    text += "names matching \"" + pattern + "\"";
    separator = ", ";
  }
  if (!text.empty()) return text;
  return all_if_none ? "all tensors" : "the tensors chosen by " + joined(parameters, " and ");
}

std::string describe(const RuleNeeds& needs) {
  if (needs.tensors.empty()) return "no tensor";
  std::string text;
  for (const TensorNeed& need : needs.tensors) {
    if (!text.empty()) text += "; ";
    text += need.tensors.description() + modes_text(need.modes) + ": " +
            joined(texts_of(need.suffices, "raw values"), ", else ");
    if (!need.spares.empty())
      text += ", often spared by " + joined(texts_of(need.spares, "raw values"), " or ");
  }
  return text;
}

std::string none_was_saved(const std::vector<TensorSource>& sources) {
  return "neither " + joined(texts_of(sources, "the raw value"), " nor ") + " was saved";
}

}  // namespace cupel
