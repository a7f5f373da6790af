#include "store/store_contract.h"
#include "cupel/store/local_store.h"
#include "cupel/store/memory_store.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

struct MemoryUnderTest final : StoreUnderTest {
  Store& store() override { return memory; }
  MemoryStore memory;
};

struct LocalUnderTest final : StoreUnderTest {
  explicit LocalUnderTest(WatchMethod method) : local((scratch / "run").string(), method) {}
  Store& store() override { return local; }
  ScratchDirectory scratch;
  LocalStore local;
};

template <class T, auto... kArguments>
std::unique_ptr<StoreUnderTest> make() {
  return std::make_unique<T>(kArguments...);
}

const std::vector<StoreCase> kAppendingStores = {
    {"memory", make<MemoryUnderTest>},
    {"local", make<LocalUnderTest, WatchMethod::Notify>},
    {"local_polling", make<LocalUnderTest, WatchMethod::Poll>}};

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, ::testing::ValuesIn(kAppendingStores),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Stores, AppendingStoreContract, ::testing::ValuesIn(kAppendingStores),
                         name_of_case);

}  // namespace
}  // namespace cupel::testing
