#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cupel/core/collection.h"
#include "cupel/core/pattern.h"

namespace cupel::format_detail {

// Counts the content of a collections file and the memory that it takes. The reader and the writer
// count alike, so that every file that is written can be read.
//
// Each call counts one more item, and throws UsageError naming the limit that is exceeded.
class CollectionsBudget {
 public:
  explicit CollectionsBudget(std::uint64_t file_bytes) noexcept;

  void add_collection(std::string_view name);
  // Counts the contents of a collection that has more than its name.
  void add_contents();
  void add_tensor_name(std::string_view name);
  void add_steps(std::size_t count);
  void add_pattern(const Pattern& pattern);
  // Counts a pattern, then compiles it: a pattern above the limit costs no time.
  Pattern compile(const std::string& text);

  // Counts all of these collections.
  void add(const Collections& collections);

 private:
  void count_pattern();
  void spend(std::uint64_t bytes);

  std::uint64_t left_;
  std::size_t collections_ = 0;
  std::size_t patterns_ = 0;
};

}  // namespace cupel::format_detail
