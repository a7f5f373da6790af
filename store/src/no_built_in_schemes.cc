// The definition of built_in_schemes() for programs that do not link cupel::cupel. CMake compiles
// this source by itself: an object with anything else would be linked beside the definition that
// cupel::cupel brings.

#include "cupel/store/store_scheme.h"

namespace cupel {

StoreSchemes built_in_schemes() { return {}; }

}  // namespace cupel
