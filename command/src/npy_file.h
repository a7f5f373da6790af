#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cupel/core/new_file.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::command_detail {

/// Writes a NumPy file (format 1.0) value by value. bf16, which NumPy lacks, is widened to f32.
///
/// commit() gives the complete file its name. Before that the values are in a temporary file beside
/// it, which the destructor removes. A target that cannot be replaced, such as a pipe or
/// /dev/stdout, is written directly.
class NpyFile {
 public:
  /// Begins an array of `shape`, row-major. Throws UsageError for text, and Error where the file
  /// cannot be written.
  NpyFile(std::string file, DType dtype, const std::vector<std::int64_t>& shape);
  ~NpyFile();
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  /// Writes the next elements, which have the dtype of the file.
  void append(const TensorValue& value);
  /// Completes the file. Throws Error where not everything could be written.
  void commit();

 private:
  void write(std::span<const std::byte> bytes);
  void flush();
  [[noreturn]] void fail() const;

  const std::string file_;
  std::string target_;                        // the file, with symbolic links resolved
  std::unique_ptr<TemporaryFile> temporary_;  // null: the target is written directly
  int descriptor_ = -1;
  std::vector<std::byte> gathered_;  // small values, until one write takes many of them
};

/// Writes one value as a file. Throws as NpyFile does.
void write_npy(const std::string& file, const TensorValue& value);

}  // namespace cupel::command_detail
