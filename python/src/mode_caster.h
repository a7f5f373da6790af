#pragma once

#include <nanobind/nanobind.h>

#include "cupel/core/mode.h"

namespace cupel::python {

/// Reads a member of cupel.core.modes.ModeKeys, or None, which is GLOBAL. False for other objects.
bool read_mode(nanobind::handle object, Mode& mode) noexcept;
/// The member of ModeKeys.
nanobind::object mode_key(Mode mode);

}  // namespace cupel::python

namespace nanobind::detail {

template <>
struct type_caster<cupel::Mode> {
  NB_TYPE_CASTER(cupel::Mode, const_name("cupel.core.modes.ModeKeys"))

  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept {
    return cupel::python::read_mode(object, value);
  }
  static handle from_cpp(cupel::Mode mode, rv_policy, cleanup_list*) {
    return cupel::python::mode_key(mode).release();
  }
};

}  // namespace nanobind::detail
