// The table of operators in docs/frameworks.md against those that the listener knows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "../../libtorch/src/operator_table.h"
#include "markdown.h"

namespace {

using cupel::libtorch_detail::OperatorKind;

// By operator: the name of a loss, else nothing.
std::map<std::string, std::string> documented() {
  std::map<std::string, std::string> names;
  for (const auto& row : cupel_docs::table_of(
           std::filesystem::path(CUPEL_SOURCE_DIR) / "docs/frameworks.md", "operator")) {
    const auto labels = cupel_docs::quoted_in(row.at(1));
    for (const std::string& name : cupel_docs::quoted_in(row.at(0)))
      names[name] = labels.empty() ? "" : labels.front();
  }
  return names;
}

TEST(LibtorchOperators, the_table_of_the_document_is_that_of_the_listener) {
  std::map<std::string, std::string> known;
  for (const auto& row : cupel::libtorch_detail::operator_rows())
    if (row.kind != OperatorKind::Addition)
      known[std::string(row.name)] = row.kind == OperatorKind::Loss ? std::string(row.label) : "";
  EXPECT_GT(known.size(), 50U);
  EXPECT_EQ(documented(), known);
}

}  // namespace
