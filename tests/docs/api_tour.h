#pragma once

namespace cupel_docs {

/// Does what docs/api.md shows first, in the current directory. Leaves by NoMoreData, which is how
/// invoke_rule() ends at the end of a run.
void tour();

}  // namespace cupel_docs
