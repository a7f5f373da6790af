#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cupel/core/collection.h"
#include "cupel/core/pattern.h"

namespace cupel::format_detail {

// Counts what the content of a collections file holds and the memory that it takes. The reader and
// the writer count alike, so that what is written can be read.
//
// Each call counts one more thing, and throws UsageError naming the limit that it is above.
class CollectionsBudget {
 public:
  explicit CollectionsBudget(std::uint64_t file_bytes) noexcept;

  void add_collection(std::string_view name);
  // Of a collection that has more than its name.
  void add_contents();
  void add_tensor_name(std::string_view name);
  void add_steps(std::size_t count);
  void add_pattern(const Pattern& pattern);
  // The same of a pattern that is not compiled yet: that costs time.
  Pattern compile(const std::string& text);

  // All of it.
  void add(const Collections& collections);

 private:
  void count_pattern();
  void spend(std::uint64_t bytes);

  std::uint64_t left_;
  std::size_t collections_ = 0;
  std::size_t patterns_ = 0;
};

}  // namespace cupel::format_detail
