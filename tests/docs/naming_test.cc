// docs/naming.md against builtin_collections(): every row of its tables, and nothing missing.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "markdown.h"

namespace {

using Texts = std::set<std::string>;

const std::map<std::string, cupel::Profile>& profiles() {
  static const std::map<std::string, cupel::Profile> by_name = {
      {"Generic", cupel::Profile::Generic},
      {"PyTorch", cupel::Profile::PyTorch},
      {"MXNet", cupel::Profile::MXNet},
      {"TensorFlow", cupel::Profile::TensorFlow},
      {"XGBoost", cupel::Profile::XGBoost}};
  return by_name;
}

std::vector<std::vector<std::string>> table(std::string_view heading) {
  return cupel_docs::table_of(std::filesystem::path(CUPEL_SOURCE_DIR) / "docs/naming.md", heading);
}

Texts quoted(const std::string& cell) {
  const auto texts = cupel_docs::quoted_in(cell);
  return {texts.begin(), texts.end()};
}

// profile, collection, patterns
TEST(Naming, the_table_of_patterns_is_that_of_the_code) {
  std::map<std::string, std::map<std::string, Texts>> documented;
  for (const auto& row : table("profile")) {
    ASSERT_EQ(row.size(), 3U) << row.front();
    ASSERT_TRUE(profiles().contains(row[0])) << row[0];
    for (const std::string& collection : cupel_docs::quoted_in(row[1]))
      documented[row[0]][collection] = quoted(row[2]);
  }
  std::map<std::string, std::map<std::string, Texts>> real;
  for (const auto& [name, profile] : profiles()) {
    for (const auto& [collection, value] : cupel::builtin_collections(profile)) {
      const auto texts = value.include_regex().texts();
      real[name][collection] = Texts(texts.begin(), texts.end());
    }
  }
  EXPECT_EQ(documented, real);
}

// saved by default, profiles
TEST(Naming, the_table_of_collections_that_are_always_saved_is_that_of_the_code) {
  std::map<std::string, Texts> documented;
  for (const auto& row : table("with the profile")) {
    ASSERT_EQ(row.size(), 2U);
    documented[row[0]] = quoted(row[1]);
  }
  std::map<std::string, Texts> real;
  for (const auto& [name, profile] : profiles()) {
    const auto& collections = cupel::default_saved_collections(profile);
    real[name] = Texts(collections.begin(), collections.end());
  }
  EXPECT_EQ(documented, real);
}

// tensor, profile, collections
TEST(Naming, every_name_falls_into_the_collections_that_its_row_says) {
  const auto rows = table("tensor");
  EXPECT_GT(rows.size(), 20U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 3U) << row.front();
    ASSERT_TRUE(profiles().contains(row[1])) << row[1];
    for (const std::string& tensor : cupel_docs::quoted_in(row[0])) {
      Texts found;
      for (const auto& [name, collection] : cupel::builtin_collections(profiles().at(row[1])))
        if (collection.contains(tensor)) found.insert(name);
      EXPECT_EQ(found, quoted(row[2])) << tensor << " with the profile " << row[1];
    }
  }
}

}  // namespace
