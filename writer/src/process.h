#pragma once

#include <cstdint>
#include <functional>

namespace cupel::writer_detail {

// How many forks lie between the first process and this one: another number than an object
// remembers means that it is a copy, whose threads and locks are not there.
std::uint64_t fork_depth() noexcept;

// Does something when the process exits, unless it is destroyed before.
class AtExit {
 public:
  explicit AtExit(std::function<void()> call);
  ~AtExit();
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;

 private:
  friend void run_at_exit();
  std::function<void()> call_;
};

}  // namespace cupel::writer_detail
