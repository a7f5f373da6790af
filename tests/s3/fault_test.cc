#include <gmock/gmock.h>

#include <array>

#include "cupel/core/error.h"
#include "s3/fault_proxy.h"
#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

S3Options hasty_options(const std::string& endpoint) {
  S3Options options = quick_options(endpoint);
  options.silence_limit = 300ms;
  options.least_bytes = 300;
  return options;
}

/// What a fault of one request must come to. The words are of the error; none: it goes unnoticed.
struct FaultRow {
  Fault fault;
  std::size_t at = 0;
  std::string words = {};
};

class FaultTable : public S3Test, public ::testing::WithParamInterface<FaultRow> {
 protected:
  void SetUp() override {
    S3Test::SetUp();
    if (IsSkipped()) return;
    proxy_ = std::make_unique<FaultProxy>(server().port());
    store_ = std::make_unique<S3Store>(S3Location{bucket(), ""}, hasty_options(proxy_->endpoint()));
  }
  FaultProxy& proxy() { return *proxy_; }
  S3Store& store() { return *store_; }
  void meet_fault(const std::string& kind) {
    proxy().set_schedule(FaultProxy::first(kind, {GetParam().fault, GetParam().at}));
  }
  bool passes() const { return GetParam().words.empty(); }
  /// Does it, and looks at how it ended.
  template <class Action>
  void expect_outcome(Action action) {
    if (passes()) {
      EXPECT_NO_THROW(action());
    } else {
      EXPECT_THAT(action, ::testing::ThrowsMessage<StoreError>(HasSubstr(GetParam().words)));
    }
    EXPECT_THAT(proxy().hits(), ElementsAre(GetParam().fault));
  }

 private:
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<S3Store> store_;
};

TEST_P(FaultTable, while_an_object_is_written) {
  const std::string text(100'000, 'x');
  meet_fault("PUT");
  expect_outcome([&] { store().put("a", bytes_of(text)); });
  if (passes()) {
    EXPECT_EQ(server().curl().get(bucket(), "a"), text);
  }
}

TEST_P(FaultTable, while_an_object_is_read) {
  const std::string text(10'000, 'x');
  server().curl().put(bucket(), "a", text);
  meet_fault("GET");
  std::string read;
  expect_outcome([&] { read = text_of(store().get("a").value()); });
  // Without a checksum, an answer that promises too little looks whole.
  const bool cannot_tell = GetParam().fault == Fault::LengthTooShort;
  if (passes() && !cannot_tell) {
    EXPECT_EQ(read, text);
  }
}

TEST_P(FaultTable, while_an_object_of_ours_is_read) {
  const std::string text(10'000, 'x');
  store().put("a", bytes_of(text));
  meet_fault("GET");
  std::string read;
  expect_outcome([&] { read = text_of(store().get("a").value()); });
  if (passes()) {
    EXPECT_EQ(read, text);
  }
}

TEST_P(FaultTable, while_a_range_is_read) {
  server().curl().put(bucket(), "a", std::string(5'000, '-') + "0123456789");
  meet_fault("GET");
  std::array<char, 10> read{};
  expect_outcome([&] { store().get_range("a", 5'000, std::as_writable_bytes(std::span(read))); });
  if (passes()) {
    EXPECT_EQ(std::string_view(read.data(), read.size()), "0123456789");
  }
}

TEST_P(FaultTable, while_objects_are_listed) {
  server().curl().put(bucket(), "a", "x");
  server().curl().put(bucket(), "b", "y");
  meet_fault("LIST");
  std::vector<ObjectInfo> listed;
  expect_outcome([&] { listed = store().list(""); });
  if (passes()) {
    EXPECT_EQ(listed.size(), 2U);
  }
}

TEST_P(FaultTable, while_an_object_is_removed) {
  server().curl().put(bucket(), "a", "x");
  meet_fault("DELETE");
  expect_outcome([&] { store().remove("a"); });
  if (passes()) {
    EXPECT_EQ(server().curl().get(bucket(), "a"), std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(
    S3, FaultTable,
    ::testing::Values(
        FaultRow{Fault::ResetRequest, 0}, FaultRow{Fault::ResetRequest, 70'000},
        FaultRow{Fault::ResetAnswer, 0}, FaultRow{Fault::ResetAnswer, 20},
        FaultRow{Fault::ResetAnswer, 190}, FaultRow{Fault::TruncateAnswer, 15},
        FaultRow{Fault::TruncateAnswer, 180}, FaultRow{Fault::InternalError},
        FaultRow{Fault::Unavailable}, FaultRow{Fault::Throttled}, FaultRow{Fault::SilentBefore},
        FaultRow{Fault::SilentAfter}, FaultRow{Fault::Trickle}, FaultRow{Fault::Duplicate},
        FaultRow{Fault::LengthTooLong, 3}, FaultRow{Fault::LengthTooShort, 99},
        FaultRow{Fault::MovedRegion}, FaultRow{Fault::MovedHost}, FaultRow{Fault::Garbage},
        FaultRow{Fault::ExpiredToken},  // credentials are looked up anew, once
        FaultRow{Fault::ClockSkew, 0, "set the clock"},
        FaultRow{Fault::Precondition, 0, "HTTP 412, PreconditionFailed, 'said by the proxy'"}),
    [](const auto& row) {
      return std::string(name_of(row.param.fault)) + "_" + std::to_string(row.param.at);
    });

}  // namespace
}  // namespace cupel::testing
