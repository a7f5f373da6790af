// docs/rules is what `cupel rules --markdown` writes: rules are described in their sources.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "scratch.h"

namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> files_of(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

TEST(RulePages, are_what_the_program_writes) {
  constexpr const char* kHowTo = "; scripts/make_rule_pages.sh makes docs/rules anew";
  const cupel_docs::Scratch scratch;
  const std::string command =
      std::string(CUPEL_BIN_DIR) + "/cupel rules --markdown pages >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto committed = files_of(fs::path(CUPEL_SOURCE_DIR) / "docs" / "rules");
  const auto written = files_of("pages");
  for (const auto& [name, text] : written) {
    const auto found = committed.find(name);
    ASSERT_NE(found, committed.end()) << "docs/rules/" << name << " is missing" << kHowTo;
    EXPECT_EQ(found->second, text) << "docs/rules/" << name << " is out of date" << kHowTo;
  }
  for (const auto& [name, text] : committed)
    EXPECT_TRUE(written.contains(name)) << "docs/rules/" << name << " is of no rule" << kHowTo;
}

}  // namespace
