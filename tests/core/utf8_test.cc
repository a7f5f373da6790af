#include "cupel/core/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace cupel {
namespace {

TEST(Utf8, is_distinguished_from_other_bytes) {
  for (const char* text : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Utf8, every_character_is_read_as_it_was_written) {
  for (std::uint32_t code = 0; code <= 0x10ffff; code += code < 0x3000 ? 1 : 0x17) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_utf8(text, code);
    ASSERT_TRUE(is_utf8(text)) << code;
    const Utf8Character character = first_character(text + "x");
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.length, text.size());
  }
}

TEST(Utf8, a_byte_that_begins_no_character_has_no_length) {
  for (const char* text : {"\x80", "\xc3", "\xc3x", "\xed\xa0\x80", "\xff"})
    EXPECT_EQ(first_character(text).length, 0U) << text;
}

TEST(Utf8, a_text_is_cut_between_characters) {
  const std::string text =
      "a\xe2\x82\xac"
      "b";
  EXPECT_EQ(whole_characters(text, 5), text);
  EXPECT_EQ(whole_characters(text, 4), "a\xe2\x82\xac");
  EXPECT_EQ(whole_characters(text, 3), "a");
  EXPECT_EQ(whole_characters(text, 1), "a");
  EXPECT_EQ(whole_characters(text, 0), "");
}

}  // namespace
}  // namespace cupel
