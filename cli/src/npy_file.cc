#include "npy_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "cupel/core/error.h"

namespace cupel {
namespace {

std::string descriptor(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "|b1";
    case DType::I8:
      return "|i1";
    case DType::I16:
      return "<i2";
    case DType::I32:
      return "<i4";
    case DType::I64:
      return "<i8";
    case DType::U8:
      return "|u1";
    case DType::U16:
      return "<u2";
    case DType::U32:
      return "<u4";
    case DType::U64:
      return "<u8";
    case DType::F16:
      return "<f2";
    case DType::BF16:
    case DType::F32:
      return "<f4";
    case DType::F64:
      return "<f8";
    case DType::Utf8:
      break;
  }
  throw UsageError("a NumPy file of text is not supported: use --json for utf8 tensors");
}

// Magic, version, the header's length and the header, padded so that the data begin at a multiple
// of 64.
std::string preamble(const TensorValue& value) {
  std::string shape;
  for (const std::int64_t extent : value.shape().extents()) shape += std::to_string(extent) + ", ";
  if (value.shape().rank() > 1) shape.erase(shape.size() - 2);
  if (value.shape().rank() == 1) shape.pop_back();
  std::string header = "{'descr': '" + descriptor(value.dtype()) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t kBefore = 10;
  constexpr std::size_t kAlignment = 64;
  const std::size_t unpadded = kBefore + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xffU);
  bytes += static_cast<char>(header.size() >> 8U & 0xffU);
  return bytes + header;
}

}  // namespace

void write_npy(const std::string& file, const TensorValue& value) {
  const std::string head = preamble(value);
  std::vector<float> widened;
  std::span<const std::byte> data = value.bytes();
  if (value.dtype() == DType::BF16) {
    for (const BFloat16 element : value.as<BFloat16>())
      widened.push_back(static_cast<float>(element));
    data = std::as_bytes(std::span(widened));
  }
  errno = 0;
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(head.data(), static_cast<std::streamsize>(head.size()));
  stream.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size()));
  stream.close();
  if (!stream)
    throw Error("cannot write " + file + (errno == 0 ? "" : std::string(": ") + strerror(errno)));
}

}  // namespace cupel
