// Dumps of trees that are cut or changed: each is read or refused, and never a crash.

#include "cupel/core/tree_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cupel/core/error.h"

namespace cupel {
namespace {

const std::vector<std::string> kFeatures = {"a", "b"};

const std::string kDump = R"({ "nodeid": 0, "depth": 0, "split": "f0", "split_condition": -0.5e-3,
  "yes": 1, "no": 2, "missing": 1, "gain": inf, "cover": 20, "children": [
    { "nodeid": 1, "depth": 1, "split": "f1", "split_condition": [0, 3], "yes": 4, "no": 3,
      "missing": 4, "gain": 2, "cover": 11, "children": [
        { "nodeid": 3, "leaf": 0.25, "cover": 4 }, { "nodeid": 4, "leaf": nan, "cover": 7 }]},
    { "nodeid": 2, "leaf": -1, "cover": 9 }]})";

std::int64_t rows(const TreeTable& table) { return table.column(0).elements(); }

// Whether the dump is read. A table has as many elements in each column, whatever was added.
bool is_read(const std::string& dump) {
  TreeTable table;
  bool read = true;
  try {
    table.add(7, dump, kFeatures);
  } catch (const Error&) {
    read = false;
  }
  for (std::size_t column = 0; column < TreeTable::kColumns.size(); ++column)
    EXPECT_EQ(table.column(column).elements(), rows(table)) << dump;
  EXPECT_EQ(rows(table) > 0, read) << dump;
  return read;
}

TEST(TreeTable, has_a_row_for_each_node_in_the_order_of_nodes) {
  TreeTable table;
  table.add(7, kDump, kFeatures);
  table.add(8, R"({"nodeid": 0, "leaf": 1})", kFeatures);
  EXPECT_EQ(rows(table), 6);
  const auto* const ids = static_cast<const std::string*>(table.column(2).data());
  EXPECT_EQ(std::vector<std::string>(ids, ids + 6),
            (std::vector<std::string>{"7-0", "7-1", "7-2", "7-3", "7-4", "8-0"}));
}

TEST(TreeTable, stays_as_it_was_where_a_dump_is_refused) {
  TreeTable table;
  table.add(7, kDump, kFeatures);
  EXPECT_THROW(table.add(8, kDump.substr(0, 300), kFeatures), Error);
  EXPECT_EQ(rows(table), 5);
}

TEST(TreeTable, refuses_a_dump_that_is_cut_anywhere) {
  for (std::size_t length = 0; length < kDump.size(); ++length)
    EXPECT_FALSE(is_read(kDump.substr(0, length))) << length;
  EXPECT_TRUE(is_read(kDump));
}

TEST(TreeTable, reads_or_refuses_a_dump_with_any_byte_changed) {
  std::size_t read = 0;
  for (std::size_t at = 0; at < kDump.size(); ++at)
    for (const char byte : {'\0', '"', '\\', '{', '}', '[', ']', ',', ':', '-', '9', 'n', '\xff'}) {
      std::string changed = kDump;
      changed[at] = byte;
      read += is_read(changed) ? 1U : 0U;
    }
  EXPECT_GT(read, 0U);
}

}  // namespace
}  // namespace cupel
