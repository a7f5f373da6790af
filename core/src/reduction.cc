// Names of reductions and sets of them. A reduction is an operation and a flag for magnitudes; its
// index numbers both. Functions here parse and print the forms of configuration files and of the
// ported SDK. An unknown name is a UsageError that lists the legal ones. Pure functions, for any
// thread.

#include "cupel/core/reduction.h"

#include <algorithm>
#include <span>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"

namespace cupel {
namespace {

constexpr std::string_view kAbsPrefix = "abs_";
constexpr std::string_view kNormSuffix = "_norm";
constexpr std::size_t kOperations = 10;
constexpr std::array<std::string_view, Reduction::kCount> kNames = {
    "min",          "max",     "mean",     "std",        "variance", "sum",      "prod",
    "median",       "l1",      "l2",       "abs_min",    "abs_max",  "abs_mean", "abs_std",
    "abs_variance", "abs_sum", "abs_prod", "abs_median", "abs_l1",   "abs_l2"};
constexpr std::string_view kLegalNames = "min, max, mean, std, variance, sum, prod, median, l1, l2";

constexpr bool is_norm(ReductionOp op) noexcept { return op >= ReductionOp::L1; }

constexpr std::string_view name_of(ReductionOp op) noexcept {
  return kNames[static_cast<std::size_t>(op)];
}

std::optional<ReductionOp> parse_op(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kOperations; ++i)
    if (kNames[i] == text) return static_cast<ReductionOp>(i);
  return std::nullopt;
}

// For lists that take only some of the names.
void add_names(ReductionSet& set, std::span<const std::string> names, bool norms, bool abs) {
  for (const std::string& name : names) {
    const auto op = parse_op(name);
    if (!op || is_norm(*op) != norms)
      throw UsageError(std::string(norms ? "A norm is one of l1, l2"
                                         : "A reduction is one of min, max, mean, std, variance, "
                                           "sum, prod, median") +
                       ": got '" + name + "'");
    set.add({*op, abs});
  }
}

void add_once(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

void add_once(ReductionConfig& config, Reduction reduction) {
  const auto [op, abs] = reduction;
  auto& plain = abs ? config.abs_reductions : config.reductions;
  auto& norm = abs ? config.abs_norms : config.norms;
  add_once(is_norm(op) ? norm : plain, name_of(op));
}

}  // namespace

std::string_view to_string(Reduction reduction) noexcept {
  const std::size_t index = reduction.index();
  return index < kNames.size() ? kNames[index] : "(no reduction)";
}

std::optional<Reduction> parse_reduction(std::string_view text) noexcept {
  const bool abs = text.starts_with(kAbsPrefix);
  if (abs) text.remove_prefix(kAbsPrefix.size());
  const bool long_form = text.ends_with(kNormSuffix);
  if (long_form) text.remove_suffix(kNormSuffix.size());
  const auto op = parse_op(text);
  if (!op || (long_form && !is_norm(*op))) return std::nullopt;
  return Reduction{*op, abs};
}

Reduction require_reduction(std::string_view text, bool abs) {
  auto reduction = parse_reduction(text);
  if (!reduction)
    throw UsageError("A reduction is one of " + std::string(kLegalNames) +
                     ", or abs_ and one of these: got '" + std::string(text) + "'");
  reduction->abs = reduction->abs || abs;
  return *reduction;
}

ReductionSet ReductionConfig::set() const {
  ReductionSet result;
  for (const std::string& name : reductions) result.add(require_reduction(name));
  add_names(result, abs_reductions, false, true);
  add_names(result, norms, true, false);
  add_names(result, abs_norms, true, true);
  return result;
}

ReductionConfig ReductionConfig::parse(std::string_view text) {
  ReductionConfig config;
  for (const std::string_view entry : comma_list(text))
    if (!entry.empty()) add_once(config, require_reduction(entry));
  return config;
}

std::string ReductionConfig::to_text() const {
  ReductionConfig lists{.abs_reductions = abs_reductions, .norms = norms, .abs_norms = abs_norms};
  for (const auto& name : reductions) add_once(lists, require_reduction(name));
  std::vector<std::string> entries;
  for (const auto& name : lists.reductions) add_once(entries, name);
  for (const auto& name : lists.norms) add_once(entries, name + std::string(kNormSuffix));
  for (const auto& name : lists.abs_reductions) add_once(entries, std::string(kAbsPrefix) + name);
  for (const auto& name : lists.abs_norms)
    add_once(entries, std::string(kAbsPrefix) + name + std::string(kNormSuffix));
  std::string text;
  for (const auto& entry : entries) text.append(text.empty() ? "" : ",").append(entry);
  return text;
}

}  // namespace cupel
