// A user's source without NDEBUG and without optimisation, linked in front of the library: the
// linker takes its copies of torch's inline functions. In this one, RecordFunction::inputs()
// asserts a byte that the released library never sets.

#include "operator_debug_source.h"

namespace cupel::libtorch_test {

std::size_t inputs_as_a_debug_source_reads_them(const at::RecordFunction& function) {
  return function.inputs().size();
}

}  // namespace cupel::libtorch_test
