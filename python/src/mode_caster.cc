#include "mode_caster.h"

#include <array>
#include <cstddef>

namespace nb = nanobind;

namespace cupel::python {
namespace {

using ModeTable = std::array<PyObject*, 5>;

// The members of ModeKeys, by the value of each. They live as long as the interpreter. The GIL
// guards the table. A static initializer would deadlock: while the import runs Python code, another
// thread may take the GIL and wait for the initializer.
const ModeTable& mode_keys() {
  static constinit ModeTable keys{};
  if (keys.back() != nullptr) return keys;
  ModeTable made{};
  const nb::object type = nb::module_::import_("cupel.core.modes").attr("ModeKeys");
  for (const Mode mode : kAllModes)
    made.at(static_cast<std::size_t>(mode)) = type(static_cast<int>(mode)).release().ptr();
  return keys = made;
}

}  // namespace

bool read_mode(nb::handle object, Mode& mode) noexcept {
  if (object.is_none()) {
    mode = Mode::Global;
    return true;
  }
  try {
    for (const Mode known : kAllModes)
      if (mode_keys().at(static_cast<std::size_t>(known)) == object.ptr()) {
        mode = known;
        return true;
      }
  } catch (...) {
    PyErr_Clear();
  }
  return false;
}

nb::object mode_key(Mode mode) {
  return nb::borrow(mode_keys().at(static_cast<std::size_t>(mode)));
}

}  // namespace cupel::python
