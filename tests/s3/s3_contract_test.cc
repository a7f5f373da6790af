#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

struct S3UnderTest final : StoreUnderTest {
  explicit S3UnderTest(S3Server& server)
      : s3({server.make_bucket(), ""}, quick_options(server.endpoint())) {}
  Store& store() override { return s3; }
  S3Store s3;
};

std::unique_ptr<StoreUnderTest> make_s3() {
  S3Server* const server = S3Server::shared();
  return server == nullptr ? nullptr : std::make_unique<S3UnderTest>(*server);
}

INSTANTIATE_TEST_SUITE_P(S3, StoreContract, ::testing::Values(StoreCase{"s3", make_s3}),
                         name_of_case);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AppendingStoreContract);

}  // namespace
}  // namespace cupel::testing
