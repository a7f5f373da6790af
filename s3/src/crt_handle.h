#pragma once

#include <aws/common/byte_buf.h>
#include <aws/common/error.h>

#include <memory>
#include <string>
#include <string_view>

namespace cupel::s3_detail {

/// Owns an object of a C library, which the library's own function releases.
template <auto kRelease>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    kRelease(object);
  }
};
template <class T, auto kRelease>
using Handle = std::unique_ptr<T, Releaser<kRelease>>;

/// Borrows the text.
inline aws_byte_cursor cursor(std::string_view text) {
  return aws_byte_cursor_from_array(text.data(), text.size());
}

inline std::string_view view(const aws_byte_cursor& bytes) {
  return {reinterpret_cast<const char*>(bytes.ptr), bytes.len};
}

/// The words of the C library for its error code.
inline std::string crt_text(int error) { return aws_error_str(error); }

}  // namespace cupel::s3_detail
