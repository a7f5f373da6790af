#include "cupel/core/ascii.h"

#include <gtest/gtest.h>

#include <string>

namespace cupel {
namespace {

TEST(Ascii, letters_and_digits_are_the_same_in_every_locale) {
  std::string letters, digits, words;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (is_letter(c)) letters += c;
    if (is_digit(c)) digits += c;
    if (is_word(c)) words += c;
  }
  EXPECT_EQ(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(digits, "0123456789");
  EXPECT_EQ(words.size(), letters.size() + digits.size() + 1);
}

TEST(Ascii, case_is_changed_of_letters_only) {
  EXPECT_EQ(lower_case("aZ[@`{\xc4_9"), "az[@`{\xc4_9");
  EXPECT_EQ(upper_case("aZ[@`{\xc4_9"), "AZ[@`{\xc4_9");
  EXPECT_TRUE(same_but_for_case("HttpS", "https"));
  EXPECT_FALSE(same_but_for_case("http", "https"));
  EXPECT_FALSE(same_but_for_case("[", "{"));
}

TEST(Ascii, an_identifier_begins_with_no_digit) {
  for (const char* name : {"a", "_", "A1_b"}) EXPECT_TRUE(is_identifier(name)) << name;
  for (const char* name : {"", "1a", "a-b", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_identifier(name)) << name;
}

TEST(Ascii, the_two_forms_of_a_name_fold_to_the_same) {
  EXPECT_EQ(folded_name("VanishingGradient"), folded_name("vanishing_gradient"));
  EXPECT_EQ(folded_name("NLPSequenceRatio"), folded_name("nlp-sequence-ratio"));
  EXPECT_NE(folded_name("Overfit"), folded_name("Overfitt"));
}

TEST(Ascii, snake_case_separates_the_words_of_a_name) {
  EXPECT_EQ(snake_case("VanishingGradient"), "vanishing_gradient");
  EXPECT_EQ(snake_case("NLPSequenceRatio"), "nlp_sequence_ratio");
  EXPECT_EQ(snake_case("NaNInGPU"), "na_n_in_gpu");
  EXPECT_EQ(snake_case("FindNaN"), "find_nan");
  EXPECT_EQ(snake_case("V2Loss"), "v2_loss");
  EXPECT_EQ(snake_case("loss_Plateau"), "loss_plateau");
  EXPECT_EQ(snake_case(""), "");
}

TEST(Ascii, hexadecimal_digits_stand_for_numbers) {
  for (unsigned number = 0; number < 16; ++number)
    EXPECT_EQ(hexadecimal_value(hexadecimal_digit(number)), static_cast<int>(number));
  EXPECT_EQ(hexadecimal_value('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`'}) EXPECT_EQ(hexadecimal_value(c), -1) << c;
  std::string text;
  append_percent_escape(text, '\xfe');
  EXPECT_EQ(text, "%FE");
}

}  // namespace
}  // namespace cupel
