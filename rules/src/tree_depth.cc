// A tree that boosting added became too deep: nodes are numbered as in a heap, root 0, children
// 2i + 1 and 2i + 2, so that the largest number determines the depth, floor(log2(largest + 1)).
//
// Where trees/Tree was saved beside trees/Node, it has the tree of each node, and each tree is
// judged by itself. The saved max of the nodes is the largest number of the deepest tree: it is
// enough for a single tree, to prove that none of several is too deep, and, without raw values,
// that one is.

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "builtin_table.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "elements.h"
#include "plain_reductions.h"

namespace cupel::rules_detail {
namespace {

constexpr std::string_view kFromRaw = "nodes (from raw)";

// Nothing for what is no number of a node.
std::optional<int> depth_of(double largest_node) {
  if (!(largest_node >= 0) || std::isinf(largest_node)) return std::nullopt;
  return std::ilogb(largest_node + 1);
}

class TreeDepth final : public TensorRule {
 public:
  struct Options {
    double depth = 0;
    bool shallower = false;
  };

  static RuleDefinition definition() {
    return define_rule<TreeDepth>(
        {.name = "TreeDepth",
         .summary = "a boosted tree is too deep",
         .description = R"(
Nodes of a tree are numbered as in a heap: the root is 0, the children of i are 2i + 1 and 2i + 2.
The largest number determines the depth of the tree:

    floor(log2(largest node + 1)) > depth

fires, strictly: by default nodes up to 30 are fine, and 31 is one level too deep. With
fire_if=shallower, a depth below the parameter depth fires instead.

The tensor trees/Node holds the nodes that were added at a step. Where the same worker saved
trees/Tree beside it, that tensor has the tree of each node, and the rule judges trees one by one;
otherwise all nodes are of one tree. Nodes whose tree is NaN are left out. The rule judges each step
by itself, in every mode.

A saved max is enough for a single tree, and to prove that none of several trees is too deep;
otherwise the rule reads the raw values. Text, empty tensors, a largest number that is negative or
NaN, and trees/Tree of another length are skipped. Set depth to the max_depth of the booster: only a
mistake exceeds it.
)",
         .example = "TreeDepth,depth=6"},
        {option(&Options::depth, {.name = "depth",
                                  .default_text = "4",
                                  .range = {.least = 0},
                                  .help = "the depth that is compared with (>= 0)"}),
         option<std::string, Options>(
             {.name = "fire_if",
              .default_text = "deeper",
              .choices = {"deeper", "shallower"},
              .help = "deeper or shallower: fires when the depth of a tree is above, or below"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.shallower = value == "shallower";
             })});
  }

  static RuleNeeds needs(const Options& /*options*/) {
    return {{{.tensors = {.patterns = "^trees/Node$", .saved_as = "trees"},
              .suffices = {TensorSource::value()},
              .spares = {TensorSource::of({kMax})}}}};
  }

  TreeDepth(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), options_(options) {}

 private:
  bool fires(int depth) const {
    return options_.shallower ? depth < options_.depth : depth > options_.depth;
  }

  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const bool has_value = copy.record().has_value();
    std::optional<TensorRecord> trees = trees_beside(copy.record());
    // Which tree it is does not matter to whether any is too deep.
    if (trees && !trees->has_value && !options_.shallower) trees.reset();
    if (const auto max = copy.saved(kMax)) {
      const auto depth = depth_of(*max);
      const bool settles = depth && !options_.shallower && (!fires(*depth) || !has_value);
      if (!trees || settles) return judge_tree(copy, *max, std::nullopt, "max (saved)");
    }
    if (!has_value)
      return copy.skip("what was saved leaves the depth open; the raw value would say");
    const auto nodes = copy.value();
    if (!nodes) return;
    if (trees) return judge_trees(copy, *nodes, *trees);
    judge_tree(copy, largest_nodes(*nodes, nullptr).begin()->second, std::nullopt, kFromRaw);
  }

  // What the same worker saved of trees/Tree.
  std::optional<TensorRecord> trees_beside(const RecordView& nodes) const {
    const auto trees = base_trial().find_tensor("trees/Tree");
    if (!trees) return std::nullopt;
    for (TensorRecord& record : trees->records(nodes.step()))
      if (record.worker == nodes.worker()) return std::move(record);
    return std::nullopt;
  }

  void judge_trees(TensorCopy& copy, const TensorValue& nodes, const TensorRecord& record) const {
    if (!record.has_value)
      return copy.skip(
          "the raw value of trees/Tree, which says whose the nodes are, was not saved");
    if (record.elements != nodes.elements() || record.dtype == DType::Utf8)
      return copy.skip("trees/Tree does not hold one number for each node");
    const auto of = copy.read_or_skip([&] {
      return base_trial().tensor("trees/Tree").value(record.step, Mode::Global, record.worker);
    });
    if (!of) return;
    if (holds_nan(*of)) copy.saw(std::numeric_limits<double>::quiet_NaN());
    const auto largest_by_tree = largest_nodes(nodes, &*of);
    if (largest_by_tree.empty()) return copy.skip("no node is of a tree");
    for (const auto& [tree, largest] : largest_by_tree) judge_tree(copy, largest, tree, kFromRaw);
  }

  // By tree; without `trees` all are of one. NaN is larger than every number here, as in a max.
  static std::map<double, double> largest_nodes(const TensorValue& nodes,
                                                const TensorValue* trees) {
    std::map<double, double> largest;
    const auto add = [&](std::span<const double> numbers, std::span<const double> owners) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double owner = owners.empty() ? 0 : owners[i];
        if (std::isnan(owner)) continue;
        double& most = largest.try_emplace(owner, numbers[i]).first->second;
        if (numbers[i] > most || std::isnan(numbers[i])) most = numbers[i];
      }
      return true;
    };
    if (trees == nullptr)
      for_each_span(nodes,
                    [&](std::span<const double> numbers, std::size_t) { return add(numbers, {}); });
    else
      for_each_span(nodes, *trees, add);
    return largest;
  }

  void judge_tree(TensorCopy& copy, double largest, std::optional<double> tree,
                  std::string_view read) const {
    const std::string of_tree = tree ? " of tree " + shortest_text(*tree) : "";
    const auto depth = depth_of(largest);
    if (!depth)
      return copy.skip("the largest number of a node" + of_tree + " is " + short_text(largest));
    copy.judged(fires(*depth), *depth, options_.depth, [&] {
      const std::string compared =
          comparison_text(*depth, options_.shallower ? "<" : ">", options_.depth);
      return JudgementText{std::string(read), "depth" + of_tree + " " + compared,
                           "depth" + of_tree + " " + compared};
    });
  }

  Options options_;
};

}  // namespace

RuleDefinition tree_depth() { return TreeDepth::definition(); }

}  // namespace cupel::rules_detail
