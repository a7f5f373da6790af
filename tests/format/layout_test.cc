#include "cupel/format/layout.h"

#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

TEST(Layout, a_segment_lies_in_the_folder_of_its_attempt_and_thousand_steps) {
  const SegmentName name{3, 12345, "worker_7"};
  EXPECT_EQ(name.index_key(), "index/0003-000000012/000000012345_worker_7.arrow");
  EXPECT_EQ(name.events_key(), "events/0003-000000012/000000012345_worker_7.arrow");
}

TEST(Layout, an_index_key_reads_back) {
  for (const SegmentName& name : {SegmentName{0, 0, "worker_0"}, SegmentName{9999, 999, "a"},
                                  SegmentName{12345, 1234567890123456, "gpu-3.local_1"}}) {
    EXPECT_EQ(SegmentName::parse_index_key(name.index_key()), name) << name.index_key();
  }
}

TEST(Layout, other_texts_are_no_index_keys) {
  for (const char* key :
       {"", "index/", "events/0000-000000000/000000000000_w.arrow",
        "index/0000-000000000/000000000000_w.arrow.tmp",
        "index/0000-000000001/000000000000_w.arrow", "index/00000-000000000/000000000000_w.arrow",
        "index/0000-000000000/000000000000_.arrow", "index/0000-000000000/00000000000_w.arrow",
        "index/0000-000000000/-00000000001_w.arrow", "index/0000-000000000/000000000000_../w.arrow",
        "index/99999999999-000000000/000000000000_w.arrow",
        "index/0000-000000000/99999999999999999999_w.arrow"}) {
    EXPECT_FALSE(SegmentName::parse_index_key(key)) << key;
  }
}

TEST(Layout, keys_sort_by_attempt_then_step_then_worker) {
  const std::vector<SegmentName> sorted = {
      {0, 5, "b"}, {0, 1000, "a"}, {0, 1000, "b"}, {1, 0, "a"}};
  for (std::size_t i = 1; i < sorted.size(); ++i)
    EXPECT_LT(sorted[i - 1].index_key(), sorted[i].index_key());
}

TEST(Layout, a_collections_key_names_its_worker) {
  EXPECT_EQ(parse_collections_key(collections_key("worker_0")), "worker_0");
  EXPECT_FALSE(parse_collections_key("collections/000000000/_collections.json"));
  EXPECT_FALSE(parse_collections_key("collections/000000000/a/b_collections.json"));
}

TEST(Layout, a_worker_name_cannot_leave_its_folder) {
  for (const char* name : {"", "..", "a/b", ".hidden", "_x", "a b", "\xc3\xa9"})
    EXPECT_THROW(check_worker_name(name), UsageError);
  EXPECT_THROW(check_worker_name(std::string(129, 'a')), UsageError);
  EXPECT_NO_THROW(check_worker_name("worker_0"));
}

}  // namespace
}  // namespace cupel
