// The reader of dumps of trees for the adapter of XGBoost in Python.

#include "cupel/core/tree_table.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cupel/writer/hook.h"
#include "parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

template <class Element>
nb::list elements(const TensorView& column) {
  const auto* const first = static_cast<const Element*>(column.data());
  nb::list list;
  for (std::int64_t i = 0; i < column.elements(); ++i) list.append(nb::cast(first[i]));
  return list;
}

nb::list as_list(const TensorView& column) {
  if (column.dtype() == DType::I64) return elements<std::int64_t>(column);
  if (column.dtype() == DType::F64) return elements<double>(column);
  return elements<std::string>(column);
}

nb::dict columns_of(const TreeTable& table) {
  nb::dict columns;
  for (std::size_t i = 0; i < TreeTable::kColumns.size(); ++i)
    columns[nb::str(TreeTable::kColumns[i].data())] = as_list(table.column(i));
  return columns;
}

void save(const TreeTable& table, Hook& hook) {
  for (std::size_t i = 0; i < TreeTable::kColumns.size(); ++i) {
    const std::string name = "trees/" + std::string(TreeTable::kColumns[i]);
    if (hook.would_save(name)) hook.save_tensor(name, table.column(i));
  }
}

}  // namespace

void add_tree_table(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<TreeTable>(module, "TreeTable", "The nodes of trees by column.")
      .def("columns", &columns_of, "The columns as lists, by name.")
      .def("save", &save, "hook"_a, Release(), "Saves the columns that are due, as trees/<column>.")
      .def_prop_ro_static(
          "names",
          [](nb::handle) {
            return std::vector<std::string>(TreeTable::kColumns.begin(), TreeTable::kColumns.end());
          },
          "The names of the columns.");
  module.def(
      "read_trees",
      [](std::int64_t first, const std::vector<std::string>& dumps,
         const std::vector<std::string>& features) {
        TreeTable table;
        for (const std::string& dump : dumps) table.add(first++, dump, features);
        return table;
      },
      "first"_a, "dumps"_a, "features"_a, Release(),
      "The nodes of trees, from XGBoost's dumps as JSON; `first` is the number of the first.");
}

}  // namespace cupel::python
