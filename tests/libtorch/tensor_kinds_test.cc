// Every kind of tensor that torch has, and what is in the run of it: bytes and numbers are compared
// with torch's own or with a definition of the kind. Kinds that this torch lacks make no tests.
// What cannot be saved has one problem in the report, whose words name the reason.

#include <cmath>
#include <cstdint>
#include <limits>

#include "watch_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool has_type(int number) {
  return std::string_view(c10::toString(static_cast<at::ScalarType>(number))) != "UNKNOWN_SCALAR";
}

class TensorKinds : public WatchTest {
 protected:
  TensorKinds() { options.include_regex = {"^t"}; }
  // Saves it in step 0, as "t".
  void save(const at::Tensor& tensor, int steps = 1) {
    for (int i = 0; i < steps; ++i) {
      watch().next_step();
      watch().save_tensor("t", tensor);
    }
  }
  std::string only_problem() {
    const auto& problems = close().problems;
    return problems.size() == 1 ? problems.front() : std::to_string(problems.size()) + " problems";
  }
};

struct Element {
  int number;  // of torch's scalar type
  const char* dtype;
};

class TensorElements : public TensorKinds, public ::testing::WithParamInterface<Element> {};

TEST_P(TensorElements, are_saved_as_they_are) {
  const auto type = static_cast<at::ScalarType>(GetParam().number);
  const at::Tensor tensor = torch::arange(6).sub(1).abs().reshape({2, 3}).to(type);
  save(tensor);
  EXPECT_EQ(kind("t"), std::string(GetParam().dtype) + " (2, 3)");
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

std::vector<Element> elements_of_this_torch() {
  std::vector<Element> elements = {{0, "u8"},   {1, "i8"},   {2, "i16"}, {3, "i32"},   {4, "i64"},
                                   {5, "f16"},  {6, "f32"},  {7, "f64"}, {11, "bool"}, {15, "bf16"},
                                   {27, "u16"}, {28, "u32"}, {29, "u64"}};
  std::erase_if(elements, [](const Element& element) { return !has_type(element.number); });
  return elements;
}
INSTANTIATE_TEST_SUITE_P(All, TensorElements, ::testing::ValuesIn(elements_of_this_torch()),
                         [](const auto& each) { return std::string(each.param.dtype); });

// A float of 8 bits by its definition. The kinds without infinities use their patterns for numbers.
struct Float8 {
  int number;
  const char* name;
  int mantissa_bits;
  int bias;
  enum Specials { Ieee, AllOnes, MinusZero } specials;
};

double number_of(const Float8& kind, int bits) {
  const int magnitude = bits & 0x7f;
  const int mantissa = magnitude & ((1 << kind.mantissa_bits) - 1);
  const int exponent = magnitude >> kind.mantissa_bits;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (kind.specials == Float8::MinusZero && bits == 0x80) return kNan;
  if (kind.specials == Float8::AllOnes && magnitude == 0x7f) return kNan;
  if (kind.specials == Float8::Ieee && exponent == (0x7f >> kind.mantissa_bits)) {
    if (mantissa != 0) return kNan;
    return (bits & 0x80) != 0 ? -std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::infinity();
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << kind.mantissa_bits);
  const double value =
      std::ldexp(whole, (exponent == 0 ? 1 : exponent) - kind.bias - kind.mantissa_bits);
  return (bits & 0x80) != 0 ? -value : value;
}

class TensorFloat8 : public TensorKinds, public ::testing::WithParamInterface<Float8> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TensorFloat8);

TEST_P(TensorFloat8, becomes_f32_exactly) {
  const auto type = static_cast<at::ScalarType>(GetParam().number);
  save(torch::arange(256).to(torch::kByte).view(type));
  ASSERT_EQ(kind("t"), "f32 (256)");
  const TensorValue saved = value("t");
  for (int bits = 0; bits < 256; ++bits) {
    const double expected = number_of(GetParam(), bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(saved.at(bits))) << bits;
    } else {
      EXPECT_EQ(saved.at(bits), expected) << bits;
    }
  }
}

std::vector<Float8> float8_of_this_torch() {
  std::vector<Float8> kinds = {{23, "e5m2", 2, 15, Float8::Ieee},
                               {24, "e4m3fn", 3, 7, Float8::AllOnes},
                               {25, "e5m2fnuz", 2, 16, Float8::MinusZero},
                               {26, "e4m3fnuz", 3, 8, Float8::MinusZero}};
  std::erase_if(kinds, [](const Float8& kind) { return !has_type(kind.number); });
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(All, TensorFloat8, ::testing::ValuesIn(float8_of_this_torch()),
                         [](const auto& each) { return std::string(each.param.name); });

// Elements that no dtype holds: float4, bits, integers of less than 8 bits.
class TensorWithoutDtype : public TensorKinds, public ::testing::WithParamInterface<int> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TensorWithoutDtype);

TEST_P(TensorWithoutDtype, is_left_out_and_reported_once) {
  const auto type = static_cast<at::ScalarType>(GetParam());
  save(torch::empty({2, 2}, torch::dtype(type)), 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr(c10::toString(type))));
}

std::vector<int> types_without_dtype() {
  std::vector<int> types = {21, 22, 45};
  std::erase_if(types, [](int type) { return !has_type(type); });
  return types;
}
INSTANTIATE_TEST_SUITE_P(All, TensorWithoutDtype, ::testing::ValuesIn(types_without_dtype()),
                         [](const auto& each) {
                           return c10::toString(static_cast<at::ScalarType>(each.param));
                         });

TEST_F(TensorKinds, a_non_contiguous_tensor_is_saved_row_by_row) {
  const at::Tensor tensor = torch::randn({6, 8}).slice(0, 0, 6, 2).slice(1, 1, 8, 3);
  ASSERT_FALSE(tensor.is_contiguous());
  save(tensor);
  EXPECT_EQ(kind("t"), "f32 (3, 3)");
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, channels_last_is_saved_row_by_row) {
  const at::Tensor tensor = torch::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  ASSERT_FALSE(tensor.is_contiguous());
  save(tensor);
  EXPECT_EQ(kind("t"), "f32 (2, 3, 4, 5)");
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, a_large_channels_last_tensor_is_saved_row_by_row) {
  const at::Tensor tensor =
      torch::randn({4, 64, 40, 40}).contiguous(at::MemoryFormat::ChannelsLast);
  save(tensor);
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, an_expanded_tensor_has_all_its_rows) {
  const at::Tensor tensor = torch::tensor({1.F, 2.F, 3.F}).expand({4, 3});
  save(tensor);
  EXPECT_EQ(kind("t"), "f32 (4, 3)");
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, a_transposed_tensor_is_saved_row_by_row) {
  const at::Tensor tensor = torch::randn({300, 500}).t();
  save(tensor);
  EXPECT_EQ(kind("t"), "f32 (500, 300)");
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, a_view_begins_at_its_offset) {
  const at::Tensor tensor = torch::arange(10, torch::kFloat).narrow(0, 7, 3);
  save(tensor);
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, a_sparse_coo_tensor_becomes_dense_with_its_duplicates_added) {
  const at::Tensor indices = torch::tensor({{0, 1, 0}, {2, 0, 2}}, torch::kLong);
  save(torch::sparse_coo_tensor(indices, torch::tensor({1.F, 2.F, 4.F}), {2, 3}));
  EXPECT_EQ(kind("t"), "f32 (2, 3)");
  EXPECT_THAT(numbers("t"), ElementsAre(0, 0, 5, 2, 0, 0));
}

TEST_F(TensorKinds, a_sparse_csr_tensor_becomes_dense) {
  const at::Tensor rows = torch::tensor({0, 1, 3}, torch::kLong);
  const at::Tensor columns = torch::tensor({1, 0, 2}, torch::kLong);
  save(torch::sparse_csr_tensor(rows, columns, torch::tensor({1.0, 2.0, 3.0}, torch::kDouble),
                                {2, 3}, torch::kDouble));
  EXPECT_EQ(kind("t"), "f64 (2, 3)");
  EXPECT_THAT(numbers("t"), ElementsAre(0, 1, 0, 2, 0, 3));
}

at::Tensor sparse_of(std::int64_t rows, std::int64_t columns) {
  return torch::sparse_coo_tensor(torch::zeros({2, 1}, torch::kLong), torch::ones({1}),
                                  {rows, columns});
}

TEST_F(TensorKinds, a_sparse_tensor_of_64_mib_is_saved) {
  options.reduction_config = ReductionConfig{.reductions = {"sum"}};
  save(sparse_of(4096, 4096));
  EXPECT_THAT(close().problems, IsEmpty());
  EXPECT_EQ(trial().tensor("t").reduction_value(0, "sum"), 1);
}

TEST_F(TensorKinds, a_larger_sparse_tensor_is_left_out_and_reported_once) {
  save(sparse_of(4096, 4097), 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr("64 MiB")));
}

TEST_F(TensorKinds, a_larger_tensor_of_mkldnn_is_left_out_and_not_called_sparse) {
  if (!at::hasMKLDNN()) GTEST_SKIP() << "this torch has no mkldnn";
  save(torch::zeros({4096, 4097}).to_mkldnn(), 3);
  EXPECT_THAT(only_problem(),
              AllOf(HasSubstr("Mkldnn"), HasSubstr("64 MiB"), ::testing::Not(HasSubstr("sparse"))));
}

TEST_F(TensorKinds, a_sparse_tensor_whose_size_overflows_is_left_out) {
  save(sparse_of(std::int64_t{1} << 40, std::int64_t{1} << 22));
  EXPECT_THAT(only_problem(), HasSubstr("64 MiB"));
}

TEST_F(TensorKinds, complex_numbers_are_pairs) {
  save(torch::complex(torch::tensor({1.F, 2.F}), torch::tensor({3.F, -4.F})));
  EXPECT_EQ(kind("t"), "f32 (2, 2)");
  EXPECT_THAT(numbers("t"), ElementsAre(1, 3, 2, -4));
}

TEST_F(TensorKinds, complex_numbers_of_doubles_are_pairs_of_f64) {
  save(torch::complex(torch::tensor({1.0}, torch::kDouble), torch::tensor({3.0}, torch::kDouble)));
  EXPECT_EQ(kind("t"), "f64 (1, 2)");
  EXPECT_THAT(numbers("t"), ElementsAre(1, 3));
}

TEST_F(TensorKinds, a_conjugate_view_is_resolved) {
  const at::Tensor tensor =
      torch::complex(torch::tensor({1.F, 2.F}), torch::tensor({3.F, -4.F})).conj();
  ASSERT_TRUE(tensor.is_conj());
  save(tensor);
  EXPECT_THAT(numbers("t"), ElementsAre(1, -3, 2, 4));
}

TEST_F(TensorKinds, a_negative_view_is_resolved) {
  const at::Tensor tensor =
      at::imag(torch::complex(torch::tensor({1.F, 2.F}), torch::tensor({3.F, -4.F})).conj());
  ASSERT_TRUE(tensor.is_neg());
  save(tensor);
  EXPECT_EQ(kind("t"), "f32 (2)");
  EXPECT_THAT(numbers("t"), ElementsAre(-3, 4));
}

TEST_F(TensorKinds, a_quantized_tensor_is_dequantized) {
  save(at::quantize_per_tensor(torch::tensor({0.F, 0.5F, -1.F}), 0.25, 10, at::kQUInt8));
  EXPECT_EQ(kind("t"), "f32 (3)");
  EXPECT_THAT(numbers("t"), ElementsAre(0, 0.5F, -1));
}

TEST_F(TensorKinds, an_undefined_tensor_is_left_out_and_reported_once) {
  save(at::Tensor(), 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr("undefined")));
}

TEST_F(TensorKinds, a_meta_tensor_is_left_out_and_reported_once) {
  save(torch::empty({2, 3}, torch::device(at::kMeta)), 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr("meta")));
}

TEST_F(TensorKinds, a_tensor_without_storage_is_left_out_and_reported_once) {
  // What a wrapper of another program is: it has an element type and sizes, and no memory.
  auto wrapper = c10::make_intrusive<c10::TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                      caffe2::TypeMeta::Make<float>(), at::kCPU);
  save(at::Tensor(std::move(wrapper)), 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr("no storage")));
}

TEST_F(TensorKinds, a_tensor_that_reaches_beyond_its_storage_is_left_out_and_reported_once) {
  const at::Tensor tensor = torch::ones({2, 3}).t();
  tensor.storage().unsafeGetStorageImpl()->set_nbytes(5 * sizeof(float));
  save(tensor, 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr("its storage")));
}

TEST_F(TensorKinds, a_tensor_that_ends_where_its_storage_does_is_saved) {
  const at::Tensor tensor = torch::arange(6).reshape({2, 3}).t().slice(0, 1);
  save(tensor);
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, more_than_32_dimensions_are_left_out_and_reported_once) {
  save(torch::ones(std::vector<std::int64_t>(33, 1)), 3);
  EXPECT_THAT(only_problem(), AllOf(HasSubstr("cannot save t: "), HasSubstr("32")));
}

TEST_F(TensorKinds, dimensions_up_to_32_are_saved) {
  save(torch::ones(std::vector<std::int64_t>(32, 1)));
  EXPECT_EQ(value("t").shape().rank(), 32U);
}

TEST_F(TensorKinds, an_empty_tensor_has_its_shape_only) {
  save(torch::empty({3, 0, 2}));
  EXPECT_THAT(close().problems, IsEmpty());
  EXPECT_EQ(kind("t"), "f32 (3, 0, 2)");
}

TEST_F(TensorKinds, a_scalar_has_no_dimension) {
  save(torch::tensor(2.5));
  EXPECT_EQ(kind("t"), "f32 ()");
}

TEST_F(TensorKinds, a_tensor_that_requires_a_gradient_is_saved) {
  const at::Tensor tensor = torch::randn({3}).requires_grad_();
  save(tensor * 2);
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor * 2));
}

TEST_F(TensorKinds, a_tensor_of_inference_mode_is_saved) {
  const c10::InferenceMode inference;
  const at::Tensor tensor = torch::randn({3});
  save(tensor);
  EXPECT_EQ(saved_bytes("t"), bytes_of(tensor));
}

TEST_F(TensorKinds, a_tensor_that_is_not_due_is_not_reported) {
  options.include_regex = {"^other"};
  save(torch::empty({2, 3}, torch::device(at::kMeta)));
  EXPECT_THAT(close().problems, IsEmpty());
}

TEST_F(TensorKinds, a_save_before_the_first_step_is_logged) {
  watch().save_tensor("t", torch::ones({2}));
  EXPECT_THAT(logged, HasSubstr("saved before the first next_step(), and so not saved"));
  watch().next_step();
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(TensorKinds, a_save_behind_the_end_of_a_step_is_reported) {
  watch().next_step();
  watch().save_tensor("t", torch::ones({2}));
  hook().end_step();
  watch().save_tensor("t", torch::zeros({2}));
  EXPECT_THAT(only_problem(), HasSubstr("a tensor was saved after end_step()"));
  EXPECT_THAT(numbers("t"), ElementsAre(1, 1));
}

TEST_F(TensorKinds, each_name_is_reported) {
  watch().next_step();
  watch().save_tensor("t1", at::Tensor());
  watch().save_tensor("t2", at::Tensor());
  EXPECT_THAT(close().problems, SizeIs(2));
}

TEST_F(TensorKinds, a_tensor_that_cannot_be_saved_is_thrown_where_the_hook_throws) {
  options.on_error = OnError::Throw;
  watch().next_step();
  EXPECT_THROW(watch().save_tensor("t", at::Tensor()), UsageError);
}

}  // namespace
}  // namespace cupel::testing
