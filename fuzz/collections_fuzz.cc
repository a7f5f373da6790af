// Collections files: any bytes; what can be read is written and read again, and must then be the
// same.

#include <cstddef>
#include <cstdint>
#include <span>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/collections_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cupel;
  try {
    const CollectionsFile file =
        decode_collections_file("c.json", std::as_bytes(std::span(data, size)));
    const auto once = encode_collections_file(file);
    if (encode_collections_file(decode_collections_file("c.json", once)) != once) __builtin_trap();
  } catch (const FormatError&) {
  } catch (const UsageError&) {  // written without blanks, it is allowed less memory
  }
  return 0;
}
