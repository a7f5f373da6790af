#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>

#include "s3/fault_proxy.h"
#include "s3/s3_server.h"

namespace cupel::testing {

/// A schedule with fewer faults that hit is none.
inline constexpr std::size_t kLeastFaults = 3;

/// Every third request meets a fault.
inline FaultProxy::Schedule random_schedule(unsigned seed) {
  return [random = std::mt19937(seed)](const std::string&, std::size_t) mutable {
    const auto& faults = all_faults();
    if (random() % 3 != 0) return Plan();
    const Fault fault = faults[random() % faults.size()];
    return Plan{fault, random() % 400'000};
  };
}

/// Options by which no fault takes long.
inline S3Options impatient_options(const std::string& endpoint) {
  S3Options options = quick_options(endpoint);
  options.silence_limit = std::chrono::milliseconds(100);
  options.least_bytes = 150;
  return options;
}

/// Says which faults hit, one after another, and expects that they were enough. A failure that
/// follows says it, too; scripts/fault-schedules.sh counts these lines.
inline void tell_faults(const std::string& what, std::initializer_list<const FaultProxy*> proxies) {
  std::string line = what;
  std::size_t hits = 0;
  int requests = 0;
  std::string names;
  for (const FaultProxy* const proxy : proxies) {
    requests += proxy->count("");
    for (const Fault fault : proxy->hits()) names.append(" ").append(name_of(fault)), ++hits;
  }
  line += ", " + std::to_string(requests) + " requests, faults:" + names;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);  // what is logged does not come between
  EXPECT_GE(hits, kLeastFaults);
}

/// Schedules that one test goes through, one after another: by the server that a program starts for
/// its tests, and each with a bucket of its own. The number of a schedule is its seed.
class FaultSchedules : public S3Test, public ::testing::WithParamInterface<unsigned> {
 public:
  static constexpr unsigned kPerTest = 10;

  /// The tests for as many schedules as an environment variable asks for.
  static auto tests(const char* variable, unsigned otherwise) {
    const char* const asked = std::getenv(variable);
    const unsigned count = asked == nullptr ? otherwise : static_cast<unsigned>(std::atoi(asked));
    return ::testing::Range(0U, (count + kPerTest - 1) / kPerTest);
  }

 protected:
  template <class Work>
  void for_each_schedule(Work work) {
    const unsigned first = GetParam() * kPerTest;
    for (unsigned seed = first; seed < first + kPerTest && !HasFailure(); ++seed) {
      SCOPED_TRACE("schedule " + std::to_string(seed));
      work(seed, server().make_bucket());
    }
  }
};

}  // namespace cupel::testing
