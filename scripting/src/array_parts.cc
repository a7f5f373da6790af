// Slices, selections and equality of arrays.
//
// A slice whose elements lie next to each other shares the bytes of the array, every other one is a
// copy. Copies ask the budget for memory and work.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "array.h"
#include "array_text.h"

namespace cupel::scripting_detail {
namespace {

// The texts whose indices `each_index` hands to a function, one for each element of the shape. It
// is called twice, and asks the budget itself.
template <class F>
Array choose_texts(Budget& budget, const Array& array, const Shape& shape, F&& each_index) {
  std::size_t characters = 0;
  each_index([&](std::int64_t i) { characters += array.text_at(i).size(); });
  TextArray copy(budget, shape, characters);
  each_index([&](std::int64_t i) { copy.add(array.text_at(i)); });
  return copy.finish();
}

// Blocks of neighbouring elements, of which every so many-th is taken.
struct Blocks {
  std::int64_t outer = 1;   // groups of blocks
  std::int64_t extent = 1;  // blocks in each group of the array
  std::int64_t inner = 1;   // elements in each block
  std::int64_t first = 0;
  std::int64_t count = 0;  // blocks in each group of the result
  std::int64_t step = 1;

  std::int64_t start(std::int64_t block) const noexcept {
    return (block / count * extent + first + block % count * step) * inner;
  }
};

void copy_blocks(Budget& budget, const Array& array, const Blocks& blocks, std::byte* out) {
  const std::size_t size = element_size(array.dtype());
  // Of long blocks a part at a time, of short ones many.
  const std::int64_t part = std::min(blocks.inner, kElementsPerPiece);
  const std::int64_t together = std::max<std::int64_t>(1, kElementsPerPiece / 16 / part);
  const std::int64_t all = blocks.outer * blocks.count;
  for (std::int64_t block = 0; block < all; ++block) {
    for (std::int64_t done = 0; done < blocks.inner; done += part) {
      if (done > 0 || block % together == 0)
        budget.charge(std::min(together, all - block) * (part / 16 + 1));
      const auto now = static_cast<std::size_t>(std::min(part, blocks.inner - done)) * size;
      std::memcpy(out, array.data() + static_cast<std::size_t>(blocks.start(block) + done) * size,
                  now);
      out += now;
    }
  }
}

// Calls visit(index) for each element that the mask has.
template <class F>
void for_each_chosen(Budget& budget, const Array& mask, F&& visit) {
  for_each_piece(budget, mask.elements(), Cost::Single, [&](auto begin, auto count) {
    for (std::int64_t i = begin; i < begin + count; ++i)
      if (mask.data()[i] != std::byte{0}) visit(i);
  });
}

std::int64_t count_chosen(Budget& budget, const Array& mask) {
  std::int64_t chosen = 0;
  for_each_piece(budget, mask.elements(), Cost::Simple, [&](auto begin, auto count) {
    chosen += std::count(mask.data() + begin, mask.data() + begin + count, std::byte{1});
  });
  return chosen;
}

// Copies each element to the place of the next that is chosen, up to the last one: without a branch
// that nobody can predict.
template <class T>
void pick(Budget& budget, const Array& array, const Array& mask, const Array::Blank& result) {
  const std::int64_t chosen = result.array.elements();
  std::int64_t count = 0;
  for_each_piece(budget, mask.elements(), Cost::Single, [&](auto begin, auto size) {
    for (std::int64_t i = begin; i < begin + size && count < chosen; ++i) {
      std::memcpy(result.as<T>() + count, array.data() + static_cast<std::size_t>(i) * sizeof(T),
                  sizeof(T));
      count += std::to_integer<std::int64_t>(mask.data()[i]);
    }
  });
}

}  // namespace

Array slice(Budget& budget, const Array& array, std::size_t axis, std::int64_t first,
            std::int64_t count, std::int64_t step) {
  std::vector<std::int64_t> extents(array.shape().begin(), array.shape().end());
  Blocks blocks{
      .extent = std::exchange(extents[axis], count), .first = first, .count = count, .step = step};
  const Shape shape(extents);
  // Extents beside one of 0 may be too many to be multiplied.
  if (shape.elements() == 0) return array.part(0, shape);
  for (std::size_t i = 0; i < axis; ++i) blocks.outer *= extents[i];
  for (std::size_t i = axis + 1; i < extents.size(); ++i) blocks.inner *= extents[i];
  if (blocks.outer == 1 && (step == 1 || count == 1))
    return array.part(first * blocks.inner, shape);
  if (array.is_text())
    return choose_texts(budget, array, shape, [&](auto&& visit) {
      for_each_piece(budget, shape.elements(), Cost::Function, [&](auto begin, auto size) {
        for (std::int64_t i = begin; i < begin + size; ++i)
          visit(blocks.start(i / blocks.inner) + i % blocks.inner);
      });
    });
  const Array::Blank result = Array::make(budget, array.dtype(), shape);
  copy_blocks(budget, array, blocks, result.data);
  return result.array;
}

Array select(Budget& budget, const Array& array, const Array& mask) {
  const Shape shape{count_chosen(budget, mask)};
  if (array.is_text())
    return choose_texts(budget, array, shape,
                        [&](auto&& visit) { for_each_chosen(budget, mask, visit); });
  const Array::Blank result = Array::make(budget, array.dtype(), shape);
  with_bits(array.dtype(), [&](auto bits) { pick<decltype(bits)>(budget, array, mask, result); });
  return result.array;
}

Shape without_axis(const Shape& shape, std::size_t axis) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
  return Shape(extents);
}

}  // namespace cupel::scripting_detail
