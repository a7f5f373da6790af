// A device that is not the CPU: its memory is the CPU's, torch does not know that, and copies come
// by the one operator that is registered for it.

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "watch_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::atomic<int> copies{0};
std::atomic<bool> has_failed{false};  // the device, whose copies throw then

at::Tensor copy_from_device(const at::Tensor& from, const at::Tensor& to, bool /*non_blocking*/) {
  ++copies;
  if (has_failed) throw std::runtime_error("the device is lost");
  std::memcpy(to.data_ptr(), from.storage().unsafeGetStorageImpl()->data_ptr().get(),
              static_cast<std::size_t>(from.numel()) * from.element_size());
  return to;
}

using DeviceGuardOfTests = c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1>;
C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuardOfTests);
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) { library.impl("_copy_from", copy_from_device); }

at::Tensor on_device(const at::Tensor& tensor) {
  const std::string bytes = bytes_of(tensor);
  void* const memory = std::malloc(bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  c10::Storage storage(
      c10::Storage::use_byte_size_t(), bytes.size(),
      c10::DataPtr(memory, memory, &std::free, c10::Device(c10::DeviceType::PrivateUse1, 0)),
      nullptr, false);
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), tensor.dtype());
  impl->set_sizes_contiguous(tensor.sizes());
  return at::Tensor(std::move(impl));
}

TEST_F(WatchTest, a_tensor_of_another_device_is_copied_to_the_cpu) {
  options.include_regex = {"^t$"};
  const at::Tensor tensor = torch::randn({2, 3});
  watch().next_step();
  watch().save_tensor("t", on_device(tensor));
  EXPECT_THAT(close().problems, IsEmpty());
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(WatchTest, a_tensor_of_another_device_is_copied_only_if_it_is_due) {
  options.include_regex = {"^other$"};
  const int before = copies;
  watch().next_step();
  watch().save_tensor("t", on_device(torch::randn({2, 3})));
  EXPECT_EQ(copies, before);
}

TEST_F(WatchTest, an_error_of_a_device_does_not_leave_a_save) {
  options.save_all = true;
  const at::Tensor lost = on_device(torch::randn({2, 3}));
  watch().next_step();
  has_failed = true;
  EXPECT_NO_THROW(watch().save_tensor("t", lost));
  EXPECT_NO_THROW(watch().record_tensor_value("my_loss", lost));
  EXPECT_NO_THROW(watch().save_inputs("m", {lost}));
  EXPECT_NO_THROW(watch().save_outputs("m", {lost, torch::ones({2})}));
  has_failed = false;
  EXPECT_THAT(logged, HasSubstr("the device is lost"));
  EXPECT_EQ(kind("m_output_1"), "f32 (2)") << "the others of the call are saved";
}

}  // namespace
}  // namespace cupel::testing
