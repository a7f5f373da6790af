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

/// Selects the rows of Trial::reductions(). A field that is left out selects everything; `name` and
/// `collection` exclude each other.
struct ReductionTableQuery {
  /// Selects the tensors that the collection lists and those that its patterns match.
  std::string collection = {};
  /// Selects the tensors in whose names one of these patterns is found anywhere.
  PatternList name = {};
  /// Selects these steps of `mode`.
  StepRange steps = {};
  /// Selects the steps of this mode; Global: all, and `steps` are global steps.
  Mode mode = Mode::Global;
  /// Selects the rows of this worker.
  std::string worker = {};
  /// Whether steps that not all workers have committed are selected, too.
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

/// What the index holds of many tensors at many steps, in columns: for notebooks, plots, and rules
/// that read all of it. Owns its memory and may outlive the trial.
///
/// Rows are ordered by global step, then tensor name, then worker (worker_2 before worker_10).
///
///     const cupel::ReductionTable table = trial->reductions({.collection = "gradients"});
///     if (const auto* mean = table.find(*cupel::parse_reduction("abs_mean")))
///       for (std::size_t row = 0; row < table.rows(); ++row)
///         plot(table.tensors[table.tensor[row]], table.step[row], (*mean)[row]);
///
/// A reduction that was not saved is a quiet NaN in its column, so that a column can be drawn as it
/// is. Whether a NaN was *saved* is in another column: bit Reduction::index() of `saved[row]` is
/// set where the reduction was saved, whatever its value; has() reads it.
struct ReductionTable {
  struct Values {
    Reduction reduction;
    TableColumn<double> values;
  };

  /// The bit of `saved` that is set where the special elements were counted; elsewhere the counts
  /// are 0 and have no meaning.
  static constexpr std::uint32_t kCounts = 1U << Reduction::kCount;

  TableColumn<std::int64_t> step;  ///< The global step.
  TableColumn<std::int64_t> mode_step;
  TableColumn<Mode> mode;
  TableColumn<std::uint32_t> tensor;  ///< Index into `tensors`; compares as the names do.
  TableColumn<std::uint32_t> worker;  ///< Index into `workers`; compares as they are ordered.
  TableColumn<std::int64_t> elements;
  TableColumn<std::uint32_t> saved;  ///< One bit for each reduction, and kCounts.
  TableColumn<std::int64_t> nan, pos_inf, neg_inf, zero;
  std::vector<Values> reductions;  ///< Those that any row has, in the order of Reduction::index().

  std::vector<std::string> tensors;  ///< The tensors of the rows: sorted, each once.
  std::vector<std::string> workers;  ///< All workers of the run, in the order of Trial::workers().

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
