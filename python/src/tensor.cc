// Tensor for Python, as cupel.core.tensor adapts it. Every query releases the GIL.

#include "cupel/trial/tensor.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mode_caster.h"
#include "outgoing_value.h"
#include "parts.h"
#include "tensor_object.h"
#include "trial_object.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

using Worker = std::optional<std::string>;

std::string text(const Worker& worker) { return worker.value_or(std::string()); }

nb::object value(const TensorObject& self, std::int64_t step, Mode mode, const Worker& worker) {
  auto found = self.read(
      [&](const Tensor& tensor) { return OutgoingValue(tensor.value(step, mode, text(worker))); });
  return std::move(found).array();
}

nb::dict values(const TensorObject& self, Mode mode, const Worker& worker) {
  auto found = self.read([&](const Tensor& tensor) {
    std::map<std::int64_t, OutgoingValue> outgoing;
    auto saved = tensor.values(mode, text(worker));
    while (!saved.empty()) {
      auto one = saved.extract(saved.begin());
      outgoing.emplace(one.key(), OutgoingValue(std::move(one.mapped())));
    }
    return outgoing;
  });
  nb::dict arrays;
  for (auto& [step, outgoing] : found) arrays[nb::int_(step)] = std::move(outgoing).array();
  return arrays;
}

nb::list reduction_values(const TensorObject& self, std::int64_t step, Mode mode,
                          const Worker& worker) {
  const ReductionValues saved = self.read(
      [&](const Tensor& tensor) { return tensor.reduction_values(step, mode, text(worker)); });
  nb::list rows;
  saved.set.for_each([&](Reduction reduction) {
    const Reduction plain{reduction.op, false};
    rows.append(nb::make_tuple(to_string(plain), reduction.abs, *saved.get(reduction)));
  });
  return rows;
}

nb::dict shapes(const TensorObject& self, Mode mode, const Worker& worker) {
  const auto found =
      self.read([&](const Tensor& tensor) { return tensor.shapes(mode, text(worker)); });
  nb::dict tuples;
  for (const auto& [step, shape] : found) tuples[nb::int_(step)] = shape_tuple(shape);
  return tuples;
}

}  // namespace

void add_tensor(nb::module_& module) {
  nb::class_<TensorObject>(module, "Tensor")
      .def_prop_ro("name", [](const TensorObject& self) { return self.tensor().name(); })
      .def(
          "steps",
          [](const TensorObject& self, Mode mode, bool incomplete) {
            return self.read([&](const Tensor& tensor) { return tensor.steps(mode, incomplete); });
          },
          "mode"_a.none(), "show_incomplete_steps"_a)
      .def(
          "prev_steps",
          [](const TensorObject& self, std::int64_t step, std::size_t n, Mode mode) {
            return self.read(
                [&](const Tensor& tensor) { return tensor.prev_steps(step, n, mode); });
          },
          "step"_a, "n"_a, "mode"_a.none())
      .def(
          "workers",
          [](const TensorObject& self, std::int64_t step, Mode mode) {
            return self.read([&](const Tensor& tensor) { return tensor.workers(step, mode); });
          },
          "step"_a, "mode"_a.none())
      .def("value", &value, "step"_a, "mode"_a.none(), "worker"_a.none())
      .def("values", &values, "mode"_a.none(), "worker"_a.none())
      .def(
          "reduction_value",
          [](const TensorObject& self, std::int64_t step, const std::string& reduction, Mode mode,
             const Worker& worker, bool abs) {
            return self.read([&](const Tensor& tensor) {
              return tensor.reduction_value(step, reduction, {mode, text(worker), abs});
            });
          },
          "step"_a, "reduction"_a, "mode"_a.none(), "worker"_a.none(), "abs"_a)
      .def("reduction_values", &reduction_values, "step"_a, "mode"_a.none(), "worker"_a.none())
      .def(
          "shape",
          [](const TensorObject& self, std::int64_t step, Mode mode, const Worker& worker) {
            return shape_tuple(self.read(
                [&](const Tensor& tensor) { return tensor.shape(step, mode, text(worker)); }));
          },
          "step"_a, "mode"_a.none(), "worker"_a.none())
      .def("shapes", &shapes, "mode"_a.none(), "worker"_a.none())
      .def(
          "dtype",
          [](const TensorObject& self, std::int64_t step, Mode mode, const Worker& worker) {
            return to_string(self.read([&](const Tensor& tensor) {
              return tensor.record(step, mode, text(worker)).dtype;
            }));
          },
          "step"_a, "mode"_a.none(), "worker"_a.none());
}

}  // namespace cupel::python
