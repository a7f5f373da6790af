// Reductions along one axis of an array.
//
// Rows whose elements are not next to each other are copied first, some neighbouring rows together,
// because they share the lines of the cache. Copies ask the budget for memory and work.

#include "array_axis.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "array_reductions.h"
#include "cupel/stats/statistics.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kMostTogether = 16;
// What begins and ends the work on a row.
constexpr std::int64_t kRow = 20;

class Rows {
 public:
  // `all`: how many rows there are.
  Rows(Budget& budget, const Array& array, std::size_t axis, std::int64_t all,
       std::int64_t most_together = kMostTogether)
      : budget_(budget), array_(array), count_(array.shape()[axis]), most_(most_together) {
    // Of an empty array the extents may be too many to be multiplied.
    if (all == 0 || count_ == 0) return;
    for (std::size_t i = axis + 1; i < array.shape().rank(); ++i) inner_ *= array.shape()[i];
    if (inner_ == 1) return;
    // Not a power of two apart, so that rows do not fight for the same places of the cache.
    constexpr std::int64_t kApart = 64;
    stride_ = std::min(count_, kPiece) + kApart;
    buffer_ = budget.allocate(static_cast<std::size_t>(stride_ * std::min(most_, inner_)) *
                              element_size(array.dtype()));
  }
  std::int64_t count() const noexcept { return count_; }
  // How many rows from this one on may be gone through together.
  std::int64_t together(std::int64_t row) const noexcept {
    return inner_ == 1 ? 1 : std::min(most_, inner_ - row % inner_);
  }

  // Calls work(row - first, data, count) for pieces of `rows` rows: whole blocks of
  // StatisticsAccumulator, and what is left.
  template <class F>
  void for_each_piece_of(std::int64_t first, std::int64_t rows, F&& work) {
    budget_.charge(kRow * rows);
    const std::size_t size = element_size(array_.dtype());
    const std::int64_t start = first / inner_ * inner_ * count_ + first % inner_;
    const std::byte* const data = array_.data() + static_cast<std::size_t>(start) * size;
    if (inner_ == 1)
      return for_each_piece(budget_, count_, Cost::Simple, [&](auto begin, auto count) {
        work(std::size_t{0}, data + static_cast<std::size_t>(begin) * size, count);
      });
    for (std::int64_t begin = 0; begin < count_; begin += kPiece) {
      const std::int64_t count = std::min(kPiece, count_ - begin);
      budget_.charge(rows * count * static_cast<std::int64_t>(Cost::Single) / 64 + 1);
      gather(data + static_cast<std::size_t>(begin * inner_) * size, count, rows);
      for (std::int64_t row = 0; row < rows; ++row)
        work(static_cast<std::size_t>(row),
             buffer_->data() + static_cast<std::size_t>(row * stride_) * size, count);
    }
  }

 private:
  static constexpr std::int64_t kPiece = StatisticsAccumulator::kBlockElements;

  void gather(const std::byte* from, std::int64_t count, std::int64_t rows) {
    with_bits(array_.dtype(), [&](auto bits) {
      constexpr std::size_t kSize = sizeof bits;
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t row = 0; row < rows; ++row)
          std::memcpy(buffer_->data() + static_cast<std::size_t>(row * stride_ + i) * kSize,
                      from + static_cast<std::size_t>(i * inner_ + row) * kSize, kSize);
    });
  }

  Budget& budget_;
  const Array& array_;
  std::int64_t count_;
  std::int64_t most_;
  std::int64_t inner_ = 1;
  std::int64_t stride_ = 0;
  std::shared_ptr<AlignedBuffer> buffer_;
};

// Makes a `Row` for each row, hands it the row's pieces by add(data, count), and the result's
// element by store(index, row).
template <class Row, class Store>
void for_each_row(Budget& budget, const Array& array, std::size_t axis, std::int64_t all,
                  const Row& fresh, Store&& store) {
  Rows rows(budget, array, axis, all);
  std::vector<Row> some;
  for (std::int64_t first = 0; first < all; first += static_cast<std::int64_t>(some.size())) {
    const std::int64_t together = rows.together(first);
    some.assign(static_cast<std::size_t>(together), fresh);
    rows.for_each_piece_of(first, together, [&](auto row, const std::byte* data, auto count) {
      some[row].add(data, static_cast<std::size_t>(count));
    });
    for (std::size_t row = 0; row < some.size(); ++row)
      store(first + static_cast<std::int64_t>(row), some[row]);
  }
}

// Calls visit(elements as doubles, begin, count) for some hundred at a time.
template <class F>
void for_each_of(DType dtype, const std::byte* data, std::size_t count, F&& visit) {
  std::array<double, kElementsAtOnce> elements;
  const auto all = static_cast<std::int64_t>(count);
  for (std::int64_t done = 0; done < all; done += kElementsAtOnce) {
    const std::int64_t now = std::min(kElementsAtOnce, all - done);
    widen(dtype, data + static_cast<std::size_t>(done) * element_size(dtype), now, elements.data());
    visit(elements.data(), done, now);
  }
}

struct NonzeroRow {
  void add(const std::byte* data, std::size_t count) {
    for_each_of(dtype, data, count, [this](const double* some, std::int64_t, std::int64_t now) {
      nonzero += now - std::count(some, some + now, 0.0);
    });
  }
  DType dtype;
  std::int64_t nonzero = 0;
};

struct ExtremeRow {
  void add(const std::byte* data, std::size_t count) {
    for_each_of(dtype, data, count, [this](const double* some, std::int64_t, std::int64_t now) {
      extreme.add(some, now);
    });
  }
  DType dtype;
  Extreme extreme;
};

}  // namespace

Array reduce_axis(Budget& budget, const Array& array, std::size_t axis, Reduction reduction) {
  ReductionSet wanted;
  wanted.add(reduction);
  if (!beyond_one_pass(wanted).empty())
    return map_axis(budget, array, axis, [&](const Array& row) {
      return reduce(budget, row, reduction, statistics_of(budget, row));
    });
  const Array::Blank result = Array::make(budget, DType::F64, without_axis(array.shape(), axis));
  for_each_row(budget, array, axis, result.array.elements(),
               StatisticsAccumulator(dtype_for_statistics(array.dtype())),
               [&](std::int64_t row, const StatisticsAccumulator& statistics) {
                 result.as<double>()[row] = statistics.finish().get(reduction);
               });
  return result.array;
}

Array map_axis(Budget& budget, const Array& array, std::size_t axis,
               const std::function<double(const Array&)>& function) {
  const Array::Blank result = Array::make(budget, DType::F64, without_axis(array.shape(), axis));
  const std::int64_t all = result.array.elements();
  Rows rows(budget, array, axis, all, 1);
  for (std::int64_t row = 0; row < all; ++row) {
    const Array::Blank copy = Array::make(budget, array.dtype(), Shape{rows.count()});
    std::byte* out = copy.data;
    rows.for_each_piece_of(row, 1, [&](auto, const std::byte* data, std::int64_t count) {
      const std::size_t bytes = static_cast<std::size_t>(count) * element_size(array.dtype());
      std::memcpy(out, data, bytes);
      out += bytes;
    });
    result.as<double>()[row] = function(copy.array);
  }
  return result.array;
}

Array count_axis(Budget& budget, const Array& array, std::size_t axis, Counting counting) {
  const DType dtype = counting == Counting::Nonzero ? DType::I64 : DType::Bool;
  const Array::Blank result = Array::make(budget, dtype, without_axis(array.shape(), axis));
  const std::int64_t extent = array.shape()[axis];
  for_each_row(budget, array, axis, result.array.elements(), NonzeroRow{array.dtype()},
               [&](std::int64_t row, const NonzeroRow& found) {
                 if (counting == Counting::Nonzero)
                   result.as<std::int64_t>()[row] = found.nonzero;
                 else
                   result.data[row] = static_cast<std::byte>(
                       counting == Counting::Any ? found.nonzero > 0 : found.nonzero == extent);
               });
  return result.array;
}

Array index_of_extreme_axis(Budget& budget, const Array& array, std::size_t axis, bool largest,
                            std::int64_t base) {
  const Array::Blank result = Array::make(budget, DType::I64, without_axis(array.shape(), axis));
  for_each_row(budget, array, axis, result.array.elements(),
               ExtremeRow{array.dtype(), Extreme(largest)},
               [&](std::int64_t row, const ExtremeRow& found) {
                 result.as<std::int64_t>()[row] = found.extreme.index() + base;
               });
  return result.array;
}

}  // namespace cupel::scripting_detail
