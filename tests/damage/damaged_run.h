#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cupel/store/memory_store.h"
#include "cupel/trial/verify_run.h"

namespace cupel::testing {

/// The files of a run by key.
using Files = std::map<std::string, std::vector<std::byte>>;

/// A golden run.
Files golden_files(const std::string& name);

std::shared_ptr<MemoryStore> store_of(const Files& files);

/// What a reader was told instead of an answer.
struct Complaint {
  std::string file;
  std::uint64_t offset = 0;
  std::string text;
};

/// All that a reader learns of a run: answers by what was asked, and complaints.
struct Reading {
  std::map<std::string, std::string> answers;
  bool ended = false;
  std::vector<Complaint> complaints;
};

Reading read_all(const Files& files);

/// The answers that `reading` lacks of `whole`, one a line.
std::string lacking(const Reading& reading, const Reading& whole);
/// The answers of `reading` that `whole` does not give, or gives otherwise.
std::string wrong(const Reading& reading, const Reading& whole);

}  // namespace cupel::testing
