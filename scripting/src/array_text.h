#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "array.h"

// Arrays of texts, each of which may be as long as memory allows.

namespace cupel::scripting_detail {

/// Counts the characters that are worked on.
class CharacterWork {
 public:
  /// As many are worked on between two questions to the budget.
  static constexpr std::size_t kAtOnce = std::size_t{64} << 10U;

  explicit CharacterWork(Budget& budget) noexcept : budget_(budget) {}
  /// Before work on so many, kAtOnce at most.
  void charge(std::size_t characters);

 private:
  Budget& budget_;
  std::size_t uncharged_ = 0;
};

/// Puts a text array together, whose characters are so many in all.
class TextArray {
 public:
  TextArray(Budget& budget, const Shape& shape, std::size_t characters);
  void add(std::string_view text);
  /// After as many as the shape has elements.
  Array finish() const { return Array::of_texts(shape_, bytes_); }

 private:
  void put_offset() noexcept;
  CharacterWork work_;
  Shape shape_;
  std::shared_ptr<AlignedBuffer> bytes_;
  char* characters_;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

/// Compares texts.
class TextEquality {
 public:
  explicit TextEquality(Budget& budget) noexcept : work_(budget) {}
  bool operator()(std::string_view a, std::string_view b);

 private:
  CharacterWork work_;
};

}  // namespace cupel::scripting_detail
