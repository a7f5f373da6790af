#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace cupel {

/// Seconds that a call takes.
template <class F>
double seconds_of(F&& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Seconds of processor time that a call takes on this thread: without what other programs take.
template <class F>
double processor_seconds_of(F&& call) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double begin = now();
  call();
  return now() - begin;
}

inline double quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(at * double(values.size() - 1))];
}

/// Two ways to do the same, taken in turn so that both see the same machine; what is reported is
/// ours, and as `ratio` how much longer it takes than the plain way: median, and quartiles of the
/// pairs.
class Paired {
 public:
  template <class Ours, class Plain>
  void run(benchmark::State& state, Ours&& ours, Plain&& plain) {
    for (auto _ : state) {
      const double first = swapped_ ? plain() : ours();
      const double second = swapped_ ? ours() : plain();
      const double took = swapped_ ? second : first;
      const double reference = swapped_ ? first : second;
      swapped_ = !swapped_;
      if (warm_++ >= kWarmUp) {
        ours_.push_back(took);
        plain_.push_back(reference);
        ratios_.push_back(took / reference);
      }
      state.SetIterationTime(took);
    }
    state.counters["ratio"] = quantile(ours_, 0.5) / quantile(plain_, 0.5);
    state.counters["ratio_q1"] = quantile(ratios_, 0.25);
    state.counters["ratio_q3"] = quantile(ratios_, 0.75);
    state.counters["plain_s"] = quantile(plain_, 0.5);
  }

 private:
  static constexpr int kWarmUp = 3;
  int warm_ = 0;
  bool swapped_ = false;
  std::vector<double> ours_, plain_, ratios_;
};

}  // namespace cupel
