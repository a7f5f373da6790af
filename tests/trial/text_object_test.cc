#include "cupel/trial/text_object.h"

#include <gmock/gmock.h>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TextObject, is_absent_until_it_is_written_and_then_replaced_whole) {
  TextObject text(make_test_store(), "results/lines");
  EXPECT_EQ(text.read(100), std::nullopt);
  text.write("first and longer");
  text.write("second");
  EXPECT_EQ(text.read(100), "second");
  text.write("");
  EXPECT_EQ(text.read(100), "");
}

TEST(TextObject, that_is_larger_than_allowed_is_an_error) {
  TextObject text(make_test_store(), "lines");
  text.write("12345");
  EXPECT_EQ(text.read(5), "12345");
  EXPECT_THROW(text.read(4), StoreError);
}

TEST(TextObject, has_others_beside_it) {
  const auto store = make_test_store();
  TextObject text(store, "results/lines");
  text.with_suffix(".state").write("there");
  EXPECT_EQ(text.read(100), std::nullopt);
  EXPECT_EQ(text.with_suffix(".state").read(100), "there");
  EXPECT_EQ(text.with_suffix(".state").location(), store->location() + "/results/lines.state");
}

TEST(TextObject, is_told_from_a_file_by_its_scheme) {
  for (const char* text : {"s3://bucket/name", "gs://bucket/name", " s3://bucket"})
    EXPECT_TRUE(TextObject::is_location(text)) << text;
  for (const char* text : {"", "lines.jsonl", "/s3://bucket", "runs/s3://a", "./s3://a", "s3:/a"})
    EXPECT_FALSE(TextObject::is_location(text)) << text;
}

TEST(TextObject, needs_a_place_and_a_name) {
  for (const char* text : {"s3://", "s3://bucket", "s3://bucket/", "s3://bucket/runs/"})
    EXPECT_THAT([&] { TextObject object(text); },
                ThrowsMessage<UsageError>(HasSubstr("as in s3://bucket/name: ")))
        << text;
  EXPECT_THROW(TextObject("gs://bucket/name"), UsageError);
  EXPECT_THROW(TextObject(make_test_store(), "../name"), UsageError);
}

}  // namespace
}  // namespace cupel::testing
