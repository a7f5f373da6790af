#include "cupel/core/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace cupel {
namespace {

TEST(AlignedBuffer, begins_at_a_multiple_of_64) {
  for (const std::size_t size : {1U, 63U, 4096U}) {
    const AlignedBuffer buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0U);
  }
}

TEST(AlignedBuffer, is_empty_after_it_was_moved_from) {
  AlignedBuffer from(8);
  from.data()[7] = std::byte{5};
  AlignedBuffer to = std::move(from);
  EXPECT_EQ(to.span()[7], std::byte{5});
  EXPECT_TRUE(from.span().empty());  // NOLINT(bugprone-use-after-move): that is the promise
  from = std::move(to);
  EXPECT_EQ(from.size(), 8U);
  EXPECT_TRUE(to.span().empty());  // NOLINT(bugprone-use-after-move)
}

TEST(AlignedBuffer, has_any_size_up_to_the_one_it_was_made_with) {
  AlignedBuffer buffer(8);
  buffer.resize(9);
  EXPECT_EQ(buffer.size(), 8U);
  buffer.resize(3);
  EXPECT_EQ(buffer.size(), 3U);
  buffer.resize(8);
  EXPECT_EQ(buffer.size(), 8U);
  const AlignedBuffer moved = std::move(buffer);
  buffer.resize(1);  // NOLINT(bugprone-use-after-move): it is empty
  EXPECT_EQ(buffer.size(), 0U);
}

}  // namespace
}  // namespace cupel
