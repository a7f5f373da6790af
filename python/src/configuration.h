#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"

namespace cupel::python {

/// A SaveConfig; a SaveConfigMode, which is for all modes; or a mapping of modes to those. Raises
/// SMDebugTypeError for other objects.
SaveConfig read_save_config(nanobind::handle object);
/// Raises SMDebugTypeError for what is no ReductionConfig.
ReductionConfig read_reduction_config(nanobind::handle object);
/// A text, or texts in lists, tuples and sets, also nested. Raises SMDebugTypeError, which names
/// `what`, for other objects.
std::vector<std::string> read_texts(nanobind::handle object, const char* what);

}  // namespace cupel::python
