#pragma once

#include <cstdint>

// The structs of DLPack's C interface (version 1) that reading a tensor needs. Names and order are
// those of the interface, and so is the layout.
namespace cupel::python::dlpack {

struct Device {
  std::int32_t type;
  std::int32_t id;
};
inline constexpr std::int32_t kCpu = 1;
inline constexpr std::int32_t kPinned = 3;  // memory of the CPU that a GPU may read

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
enum Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kComplex = 5, kBool = 6 };

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
inline constexpr std::uint32_t kMajorVersion = 1;

// What a type of tensors has as __dlpack_c_exchange_api__: a capsule of this name.
inline constexpr const char* kExchangeApi = "dlpack_exchange_api";
struct ExchangeApi {
  Version version;
  const ExchangeApi* previous;  // of an older major version
  // The functions that are not called here keep their places only.
  void (*allocate)();
  void (*managed_from_object)();
  void (*managed_to_object)();
  // Fills in a tensor that borrows from the object; 0, or -1 and an exception. May be null.
  int (*tensor_from_object)(void* object, Tensor* out);
};

}  // namespace cupel::python::dlpack
