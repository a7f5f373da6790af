#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cupel/core/new_file.h"
#include "cupel/trial/tensor_value.h"

namespace cupel {

/// Writes a NumPy file (format 1.0) value by value. bf16, which NumPy lacks, is widened to f32.
///
/// The file appears under its name with commit(), whole or not at all: what is written goes to a
/// file beside it, which the destructor removes. Only what cannot be replaced, as a pipe or
/// /dev/stdout, is written as it is.
class NpyFile {
 public:
  /// An array of `shape`, row-major. Throws UsageError for text and Error when the file cannot be
  /// written.
  NpyFile(std::string file, DType dtype, const std::vector<std::int64_t>& shape);
  ~NpyFile();
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  /// The next elements, of the file's dtype.
  void append(const TensorValue& value);
  /// Throws Error when not everything could be written.
  void commit();

 private:
  void write(std::span<const std::byte> bytes);
  void flush();
  [[noreturn]] void fail() const;

  const std::string file_;
  std::string target_;                        // behind symbolic links
  std::unique_ptr<TemporaryFile> temporary_;  // null: the target is written as it is
  int descriptor_ = -1;
  std::vector<std::byte> gathered_;  // small values, until they are worth a write
};

/// One value, whole. Throws like NpyFile.
void write_npy(const std::string& file, const TensorValue& value);

}  // namespace cupel
