// docs/naming.md against builtin_collections(): every row of its tables, and nothing missing.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/rules/rule_catalog.h"
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

// rule, published, names by profile
TEST(Naming, every_name_that_rules_find_is_matched_by_the_default_or_by_what_follows_it) {
  std::size_t names = 0;
  for (const auto& row : table("rule")) {
    ASSERT_EQ(row.size(), 5U) << row.front();
    const std::string rule = cupel_docs::quoted_in(row[0]).at(0);
    const cupel::NeededTensors tensors =
        cupel::builtin_rules().require(rule).needs().tensors.front().tensors;
    for (std::size_t column = 1; column < row.size(); ++column) {
      for (const std::string& tensor : cupel_docs::quoted_in(row[column])) {
        ++names;
        EXPECT_EQ(tensors.patterns.matches(tensor), column == 1) << rule << ": " << tensor;
        const bool follows =
            std::ranges::any_of(tensors.fallbacks, [&](const cupel::FallbackNames& fallback) {
              return fallback.collections.empty() && fallback.patterns.matches(tensor);
            });
        if (column > 1) {
          EXPECT_TRUE(follows) << rule << ": " << tensor;
        }
      }
    }
  }
  EXPECT_GT(names, 25U);
}

TEST(Naming, the_table_of_names_that_rules_find_has_every_rule_with_such_names) {
  Texts documented;
  for (const auto& row : table("rule")) documented.insert(cupel_docs::quoted_in(row[0]).at(0));
  Texts real;
  for (const auto& rule : cupel::builtin_rules().definitions(cupel::Definitions::Practical)) {
    cupel::ParameterMistakes missing;
    const auto values = cupel::read_parameters(rule->parameters, {}, missing);
    const cupel::RuleNeeds needs = rule->needs_of(values);
    if (std::ranges::any_of(needs.tensors, [](const cupel::TensorNeed& need) {
          return !need.tensors.fallbacks.empty();
        }))
      real.insert(rule->name);
  }
  EXPECT_EQ(documented, real);
}

}  // namespace
