#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cupel {

/// A directory of its own that goes with it: in CUPEL_BENCH_DIR, else on tmpfs.
class BenchDirectory {
 public:
  BenchDirectory() {
    const char* given = std::getenv("CUPEL_BENCH_DIR");
    const std::filesystem::path shared_memory = "/dev/shm";
    const std::filesystem::path base = given != nullptr ? std::filesystem::path(given)
                                       : std::filesystem::exists(shared_memory)
                                           ? shared_memory
                                           : std::filesystem::temp_directory_path();
    std::string name = (base / "cupel-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~BenchDirectory() { std::filesystem::remove_all(path_); }
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace cupel
