#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/value_counts.h"
#include "cupel/trial/step_range.h"

namespace cupel {

/// What Trial::reductions() puts into its table; what is left out selects everything. `name` and
/// `collection` exclude each other.
struct ReductionTableQuery {
  std::string collection = {};  ///< Listed names and matches of its patterns.
  PatternList name = {};        ///< Searched anywhere in the name.
  StepRange steps = {};         ///< Steps of `mode`.
  Mode mode = Mode::Global;     ///< Global: global steps, of every mode.
  std::string worker = {};      ///< Default: all of them.
  bool show_incomplete_steps = false;
};

namespace trial_detail {
/// Memory full of zeros; of a large piece, only what is written is taken from the system. Throws
/// std::bad_alloc.
void* allocate_column(std::size_t bytes);
void free_column(void* memory, std::size_t bytes) noexcept;
}  // namespace trial_detail

/// One column of a table: values one after another. Move-only.
template <class T>
class TableColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using const_iterator = const T*;

  TableColumn() noexcept = default;
  /// All zero.
  explicit TableColumn(std::size_t size)
      : values_(size == 0 ? nullptr
                          : static_cast<T*>(trial_detail::allocate_column(size * sizeof(T)))),
        size_(size) {}
  TableColumn(TableColumn&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  TableColumn& operator=(TableColumn&& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~TableColumn() {
    if (values_ != nullptr) trial_detail::free_column(values_, size_ * sizeof(T));
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T* data() const noexcept { return values_; }
  T* data() noexcept { return values_; }
  const T* begin() const noexcept { return values_; }
  const T* end() const noexcept { return values_ + size_; }
  const T& operator[](std::size_t row) const noexcept { return values_[row]; }

 private:
  T* values_ = nullptr;
  std::size_t size_ = 0;
};

/// What the index holds of many tensors at many steps, in columns: for notebooks, plots and rules
/// that look at all of it. Owns its memory, whatever becomes of the trial.
///
/// Rows are ordered by global step, then tensor name, then worker (worker_2 before worker_10).
///
///     const cupel::ReductionTable table = trial->reductions({.collection = "gradients"});
///     if (const auto* mean = table.find(*cupel::parse_reduction("abs_mean")))
///       for (std::size_t row = 0; row < table.rows(); ++row)
///         plot(table.tensors[table.tensor[row]], table.step[row], (*mean)[row]);
///
/// A reduction that was not saved is a quiet NaN in its column, so that columns can be handed to
/// whatever draws them. Whether a NaN was *saved* is in another column: bit Reduction::index() of
/// `saved[row]` is set where the reduction was saved, whatever its value; has() asks it.
struct ReductionTable {
  struct Values {
    Reduction reduction;
    TableColumn<double> values;
  };

  /// Bit of `saved` that says that the special elements were counted; where it is not set, the
  /// counts are 0 and mean nothing.
  static constexpr std::uint32_t kCounts = 1U << Reduction::kCount;

  TableColumn<std::int64_t> step;  ///< Global.
  TableColumn<std::int64_t> mode_step;
  TableColumn<Mode> mode;
  TableColumn<std::uint32_t> tensor;  ///< Index into `tensors`; compares as the names do.
  TableColumn<std::uint32_t> worker;  ///< Index into `workers`; compares as they are ordered.
  TableColumn<std::int64_t> elements;
  TableColumn<std::uint32_t> saved;  ///< Bits: one for each reduction, and kCounts.
  TableColumn<std::int64_t> nan, pos_inf, neg_inf, zero;
  std::vector<Values> reductions;  ///< Those that any row has, in the order of Reduction::index().

  std::vector<std::string> tensors;  ///< Of the rows: sorted, each once.
  std::vector<std::string> workers;  ///< All of the run, in the order of Trial::workers().

  std::size_t rows() const noexcept { return step.size(); }

  /// The column of a reduction; null if no row has it.
  const TableColumn<double>* find(Reduction reduction) const noexcept {
    const auto found = std::find_if(reductions.begin(), reductions.end(),
                                    [&](const Values& one) { return one.reduction == reduction; });
    return found == reductions.end() ? nullptr : &found->values;
  }
  bool has(std::size_t row, Reduction reduction) const noexcept {
    return (saved[row] >> reduction.index() & 1U) != 0;
  }
  std::optional<double> value(std::size_t row, Reduction reduction) const noexcept {
    if (!has(row, reduction)) return std::nullopt;
    return (*find(reduction))[row];
  }
  std::optional<ValueCounts> counts(std::size_t row) const noexcept {
    if ((saved[row] & kCounts) == 0) return std::nullopt;
    return ValueCounts{nan[row], pos_inf[row], neg_inf[row], zero[row]};
  }
};

}  // namespace cupel
