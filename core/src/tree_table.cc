// Reads dumps of trees. A dump is an object for each node, with those of its children in an array
// inside; a tree may be deeper than a call stack, so that the text is read by events, and the nodes
// that are open stand in a vector. Branches are what the fields "yes", "no" and "missing" name: the
// order of children differs between kinds of nodes. XGBoost writes numbers that JSON has not, nan
// and inf, so these are put in quotes first. Fields that are not known are passed over.

#include "cupel/core/tree_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"

namespace cupel {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kNoText = "nan";
constexpr std::string_view kLeaf = "Leaf";

struct TreeNode {
  std::optional<std::int64_t> number, yes, no, missing;
  std::string feature;
  std::string category{kNoText};
  double split = kNoNumber;
  double gain = kNoNumber;
  double cover = kNoNumber;
  std::optional<double> leaf;
};

[[noreturn]] void refuse_dump(const std::string& why) {
  throw Error("the dump of a tree cannot be read: " + why);
}

// The text with numbers that JSON has not in quotes.
std::string json_of_dump(std::string_view dump) {
  const auto is_of_number = [](char c) {
    return is_alphanumeric(c) || c == '+' || c == '-' || c == '.';
  };
  std::string json;
  json.reserve(dump.size());
  for (std::size_t at = 0; at < dump.size();) {
    const char c = dump[at];
    if (c == '"') {
      const std::size_t begin = at++;
      while (at < dump.size() && dump[at] != '"') at += dump[at] == '\\' ? 2 : 1;
      at = std::min(at + 1, dump.size());
      json += dump.substr(begin, at - begin);
    } else if (is_of_number(c)) {
      const std::size_t begin = at;
      while (at < dump.size() && is_of_number(dump[at])) ++at;
      const std::string_view word = dump.substr(begin, at - begin);
      const auto number = parse_number(word);
      const bool is_foreign = number && !std::isfinite(*number);
      if (is_foreign) json += '"';
      json += word;
      if (is_foreign) json += '"';
    } else {
      json += c;
      ++at;
    }
  }
  return json;
}

// Takes the events of the text, and collects the nodes.
class TreeNodeReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeNodeReader(std::span<const std::string> features) : features_(features) {}

  std::vector<TreeNode> nodes() && { return std::move(nodes_); }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return take(static_cast<double>(value), std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return take(value, text);
  }
  bool string(string_t& text) override {
    if (skipped_ > 0 || open_.empty()) return true;
    if (open_.back().inside == Inside::Node && key_ == "split") {
      open_.back().node.feature = name_of(text);
      return true;
    }
    return take(parse_number(text).value_or(kNoNumber), text);
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    if (skipped_ > 0 || !may_begin_node()) {
      ++skipped_;
    } else {
      open_.emplace_back();
    }
    return true;
  }
  bool key(string_t& name) override {
    if (skipped_ == 0) key_ = name;
    return true;
  }
  bool end_object() override {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    TreeNode& node = open_.back().node;
    if (!node.number) refuse_dump("a node has no number");
    nodes_.push_back(std::move(node));
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (skipped_ > 0 || open_.empty() || open_.back().inside != Inside::Node) {
      ++skipped_;
    } else if (key_ == "children") {
      open_.back().inside = Inside::Children;
    } else if (key_ == "split_condition") {
      open_.back().inside = Inside::Categories;
      open_.back().node.category.clear();
    } else {
      ++skipped_;
    }
    return true;
  }
  bool end_array() override {
    if (skipped_ > 0) {
      --skipped_;
    } else {
      open_.back().inside = Inside::Node;
      key_.clear();
    }
    return true;
  }
  bool parse_error(std::size_t place, const std::string&,
                   const nlohmann::detail::exception&) override {
    refuse_dump("no JSON at byte " + std::to_string(place));
  }

 private:
  enum class Inside : std::uint8_t { Node, Children, Categories };
  struct Open {
    TreeNode node;
    Inside inside = Inside::Node;
  };

  bool may_begin_node() const noexcept {
    return open_.empty() ? nodes_.empty() : open_.back().inside == Inside::Children;
  }

  // "f12" is the name of feature 12.
  std::string name_of(const std::string& text) const {
    const auto number = text.starts_with('f')
                            ? parse_integer<std::size_t>(std::string_view(text).substr(1))
                            : std::nullopt;
    return number && *number < features_.size() ? features_[*number] : text;
  }

  bool take(double value, const std::string& text) {
    if (skipped_ > 0 || open_.empty()) return true;
    TreeNode& node = open_.back().node;
    if (open_.back().inside == Inside::Categories) {
      node.category += (node.category.empty() ? "" : ",") + text;
      return true;
    }
    if (open_.back().inside != Inside::Node) return true;
    if (key_ == "nodeid") node.number = number_of_node(text);
    if (key_ == "yes") node.yes = number_of_node(text);
    if (key_ == "no") node.no = number_of_node(text);
    if (key_ == "missing") node.missing = number_of_node(text);
    if (key_ == "split_condition") node.split = value;
    if (key_ == "gain") node.gain = value;
    if (key_ == "cover") node.cover = value;
    if (key_ == "leaf") node.leaf = value;
    return true;
  }

  static std::int64_t number_of_node(const std::string& text) {
    const auto number = parse_integer<std::int64_t>(text);
    if (!number) refuse_dump("the number of a node is no integer");
    return *number;
  }

  std::span<const std::string> features_;
  std::vector<Open> open_;  // nodes whose end is not read, from the root on
  std::vector<TreeNode> nodes_;
  std::size_t skipped_ = 0;  // objects and arrays that are open inside an unknown field
  std::string key_;
};

}  // namespace

void TreeTable::add(std::int64_t tree, std::string_view dump,
                    std::span<const std::string> features) {
  TreeNodeReader reader(features);
  nlohmann::json::sax_parse(json_of_dump(dump), &reader);
  std::vector<TreeNode> nodes = std::move(reader).nodes();
  if (nodes.empty()) refuse_dump("it has no nodes");
  std::ranges::sort(nodes, {}, &TreeNode::number);
  const std::string prefix = std::to_string(tree) + "-";
  const auto id_of = [&](const std::optional<std::int64_t>& node) {
    return node ? prefix + std::to_string(*node) : std::string(kNoText);
  };
  for (TreeNode& node : nodes) {
    const bool is_leaf = node.leaf.has_value();
    node_.push_back(*node.number);
    id_.push_back(id_of(node.number));
    feature_.push_back(is_leaf ? std::string(kLeaf) : std::move(node.feature));
    split_.push_back(node.split);
    yes_.push_back(id_of(node.yes));
    no_.push_back(id_of(node.no));
    missing_.push_back(id_of(node.missing));
    gain_.push_back(is_leaf ? *node.leaf : node.gain);
    cover_.push_back(node.cover);
    category_.push_back(std::move(node.category));
    tree_.push_back(tree);  // last: its size is the number of rows, whatever throws before
  }
}

TensorView TreeTable::column(std::size_t number) const noexcept {
  const Shape rows{tree_.size()};
  const auto view = [&](const auto& column) { return TensorView(column.data(), rows); };
  switch (number) {
    case 0:
      return view(tree_);
    case 1:
      return view(node_);
    case 2:
      return view(id_);
    case 3:
      return view(feature_);
    case 4:
      return view(split_);
    case 5:
      return view(yes_);
    case 6:
      return view(no_);
    case 7:
      return view(missing_);
    case 8:
      return view(gain_);
    case 9:
      return view(cover_);
    default:
      return view(category_);
  }
}

}  // namespace cupel
