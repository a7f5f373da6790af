#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/core/tensor_view.h"
#include "tensor_table.h"

namespace cupel::writer_detail {

// A value that waits for the step that it belongs to.
class KeptValue {
 public:
  KeptValue(NamedTensor& tensor, const TensorView& view);  // copies the values; a valid view
  NamedTensor& tensor() const noexcept { return *tensor_; }
  TensorView view() const noexcept;

 private:
  NamedTensor* tensor_;
  DType dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;      // of a dtype of fixed size
  std::vector<std::string> strings_;  // of Utf8
};

// What calls leave behind for the step that is, or for the one that begins next: how far the values
// of each module are numbered, and the values that are saved at every call, where no step is open.
// Any thread.
class StepInputs {
 public:
  // Values that wait take no more memory than `most_bytes`.
  explicit StepInputs(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Keeps a value until a step begins. Returns false where there is no room for it.
  bool keep(NamedTensor& tensor, const TensorView& view);
  bool has_kept() const;

  // A step begins: numbering begins anew. Returns the values that waited, in the order of the
  // calls.
  std::vector<KeptValue> begin_step();

  // The name of the next value of a module in this step, such as "fc1_input_0"; the side is
  // "_input_" or "_output_".
  std::string next_name(std::string_view module, const char* side);

 private:
  const std::uint64_t most_bytes_;
  mutable Mutex mutex_;
  std::vector<KeptValue> kept_ CUPEL_GUARDED_BY(mutex_);
  std::uint64_t kept_bytes_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::int64_t, std::less<>> numbers_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::writer_detail
