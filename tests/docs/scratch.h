#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace cupel_docs {

/// An empty directory that is current, and gone with the object.
class Scratch {
 public:
  Scratch() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "cupel_docs_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch directory");
    path_ = name;
    std::filesystem::current_path(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path before_;
  std::filesystem::path path_;
};

}  // namespace cupel_docs
