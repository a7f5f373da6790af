// Needs in words, and whether something that is saved meets them.
//
// Of several reductions that are one number (l1, the sum of magnitudes) texts name one, and name it
// once. Pure functions, for any thread.

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
  if (source.kind == TensorSource::Kind::Any)
    return source.least == 1 ? "any reduction" : std::to_string(source.least) + " reductions";
  std::string text;
  source.reductions.for_each([&](Reduction reduction) {
    text += (text.empty() ? "" : " and ") + std::string(to_string(spoken(reduction)));
  });
  return source.shape ? text + " and shape" : text;
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

std::string collections_text(const std::vector<std::string>& names) {
  return (names.size() == 1 ? "the collection " : "the collections ") + joined(names, ", ");
}

std::string names_text(const PatternList& patterns) {
  std::string text;
  for (const std::string& pattern : patterns.texts())
    text += (text.empty() ? "names matching \"" : ", names matching \"") + pattern + "\"";
  return text;
}

std::string modes_text(const TensorNeed& need) {
  std::string text;
  for (const Mode mode : need.each_of)
    text += (text.empty() ? ", of steps of " : " and of ") + std::string(to_string(mode));
  if (!text.empty()) return need.or_pairs_of_names ? text + ", or in pairs by name" : text;
  const std::vector<Mode>& modes = need.modes;
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

TensorSource TensorSource::with_shape(Reduction reduction) {
  TensorSource source = of({reduction});
  source.shape = true;
  return source;
}

bool TensorSource::is_in(const SavedParts& saved) const noexcept {
  if (shape && !saved.shape) return false;
  switch (kind) {
    case Kind::Counts:
      return saved.counts;
    case Kind::Reductions: {
      ReductionSet both = saved.reductions;
      both |= reductions;
      return both == saved.reductions;
    }
    case Kind::Any:
      return saved.reductions.size() >= least;
    case Kind::Value:
      break;
  }
  return saved.raw;
}

const NeededNumber& TensorNeed::steps_in(Mode mode) const {
  const auto found = steps_of_mode.find(mode);
  return found == steps_of_mode.end() ? steps : found->second;
}

std::vector<NeededTensors> NeededTensors::parts() const {
  if (any_suffices || !fallbacks.empty() || collections.size() + patterns.patterns().size() < 2)
    return {*this};
  std::vector<NeededTensors> result;
  const auto add = [&](std::vector<std::string> its_collections, PatternList its_patterns) {
    NeededTensors part = *this;
    part.collections = std::move(its_collections);
    part.patterns = std::move(its_patterns);
    result.push_back(std::move(part));
  };
  for (const std::string& collection : collections) add({collection}, {});
  for (const std::string& pattern : patterns.texts()) add({}, pattern);
  return result;
}

std::string NeededTensors::description() const {
  std::string text;
  if (!collections.empty()) text += collections_text(collections);
  if (!patterns.empty()) text += (text.empty() ? "" : " and ") + names_text(patterns);
  if (!text.empty()) return text;
  return all_if_none ? "all tensors" : "the tensors chosen by " + joined(parameters, " and ");
}

std::string FallbackNames::description() const {
  std::string text = names_text(patterns);
  if (!collections.empty()) text += " in " + collections_text(collections);
  if (least_rank > 0) text += " of at least " + std::to_string(least_rank) + " axes";
  return text;
}

std::string describe(const RuleNeeds& needs) {
  if (needs.tensors.empty()) return "no tensor";
  std::string text;
  for (const TensorNeed& need : needs.tensors) {
    if (!text.empty()) text += needs.any_suffices ? "; or " : "; ";
    if (need.optional) text += "if there are any, ";
    text += need.tensors.description();
    // The patterns of fallbacks would fill lines.
    if (!need.tensors.fallbacks.empty()) text += ", else other names";
    text += modes_text(need) + ": " + sources_text(need.suffices);
    if (!need.spares.empty())
      text += ", often spared by " + joined(texts_of(need.spares, "raw values"), " or ");
  }
  return text;
}

std::string sources_text(const std::vector<TensorSource>& sources) {
  return joined(texts_of(sources, "raw values"), ", else ");
}

std::string none_was_saved(const std::vector<TensorSource>& sources) {
  return "neither " + joined(texts_of(sources, "the raw value"), " nor ") + " was saved";
}

}  // namespace cupel
