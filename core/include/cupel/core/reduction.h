#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

enum class ReductionOp : std::uint8_t { Min, Max, Mean, Std, Variance, Sum, Prod, Median, L1, L2 };

/// One number computed from a tensor: an operation, on the values or on their magnitudes.
struct Reduction {
  ReductionOp op = ReductionOp::Mean;
  bool abs = false;

  static constexpr std::size_t kCount = 20;
  constexpr std::size_t index() const noexcept {
    return static_cast<std::size_t>(op) + (abs ? 10 : 0);
  }
  static constexpr Reduction at(std::size_t index) noexcept {
    return {static_cast<ReductionOp>(index % 10), index >= 10};
  }
  friend bool operator==(Reduction, Reduction) = default;
};

/// "mean", "abs_mean", "l2", "abs_l2": the names of index columns and of the command line.
std::string_view to_string(Reduction reduction) noexcept;

/// Reads "mean", "abs_mean", "l1", "l1_norm", "abs_l1_norm" …; nothing for other text.
std::optional<Reduction> parse_reduction(std::string_view text) noexcept;

/// Reads it with a separate flag, as in `reduction_value(step, "mean", {.abs = true})`; throws
/// UsageError listing the legal names.
Reduction require_reduction(std::string_view text, bool abs = false);

/// A set of reductions, iterated in index order.
class ReductionSet {
 public:
  constexpr ReductionSet() noexcept = default;
  constexpr void add(Reduction reduction) noexcept { bits_ |= 1U << reduction.index(); }
  constexpr bool contains(Reduction reduction) const noexcept {
    return (bits_ >> reduction.index() & 1U) != 0;
  }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr std::size_t size() const noexcept {
    return static_cast<std::size_t>(std::popcount(bits_));
  }
  constexpr ReductionSet& operator|=(ReductionSet other) noexcept {
    bits_ |= other.bits_;
    return *this;
  }
  template <class F>
  constexpr void for_each(F&& f) const {
    for (std::uint32_t rest = bits_; rest != 0; rest &= rest - 1)
      f(Reduction::at(static_cast<std::size_t>(std::countr_zero(rest))));
  }
  friend bool operator==(ReductionSet, ReductionSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

/// The values of a set of reductions; values that are not in `set` have no meaning.
struct ReductionValues {
  ReductionSet set;
  std::array<double, Reduction::kCount> values{};
  constexpr void put(Reduction reduction, double value) noexcept {
    set.add(reduction);
    values[reduction.index()] = value;
  }
  constexpr std::optional<double> get(Reduction reduction) const noexcept {
    if (!set.contains(reduction)) return std::nullopt;
    return values[reduction.index()];
  }
};

/// The data saved of a tensor: reductions, the raw value, its shape. An empty one saves nothing.
///
/// `reductions` takes all twenty names. The three lists after it are the reference's own form:
/// names of a part of the twenty, without the prefix.
struct ReductionConfig {
  std::vector<std::string> reductions = {};  ///< As parse_reduction reads them: mean, abs_max, l2.
  std::vector<std::string> abs_reductions = {};  ///< min max mean std variance sum prod median
  std::vector<std::string> norms = {};           ///< l1 l2
  std::vector<std::string> abs_norms = {};
  bool save_raw_tensor = false;
  bool save_shape = false;

  /// The reductions as a set; throws UsageError naming the unknown name and the legal ones.
  ReductionSet set() const;

  /// The comma list of configuration files ("min, abs_mean, l2_norm"); blanks and empty entries are
  /// ignored, duplicates collapse, unknown names throw UsageError.
  static ReductionConfig parse(std::string_view text);
  /// Inverts parse(): the plain reductions, norms (as "l1_norm"), and both of the magnitudes,
  /// also those that `reductions` holds. Throws as set() does.
  std::string to_text() const;

  friend bool operator==(const ReductionConfig&, const ReductionConfig&) = default;
};

}  // namespace cupel
