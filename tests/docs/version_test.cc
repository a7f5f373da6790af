// The version is in one place, CMakeLists.txt; documents and the command follow it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "markdown.h"

namespace {

namespace fs = std::filesystem;

// "0.2.0", from project(cupel VERSION 0.2.0 …).
std::string version_of_the_project() {
  constexpr std::string_view kBegin = "project(cupel VERSION ";
  for (const std::string& line :
       cupel_docs::lines_of(fs::path(CUPEL_SOURCE_DIR) / "CMakeLists.txt"))
    if (line.starts_with(kBegin))
      return line.substr(kBegin.size(), line.find(' ', kBegin.size()) - kBegin.size());
  return "no version";
}

TEST(VersionInDocuments, the_newest_entry_of_the_changelog_is_this_version) {
  for (const std::string& line :
       cupel_docs::lines_of(fs::path(CUPEL_SOURCE_DIR) / "CHANGELOG.md")) {
    if (!line.starts_with("## ")) continue;
    EXPECT_EQ(line, "## " + version_of_the_project());
    return;
  }
  FAIL() << "no entry";
}

TEST(VersionInDocuments, packages_and_find_package_have_this_version) {
  const std::string version = version_of_the_project();
  const std::string minor = version.substr(0, version.rfind('.'));
  for (const std::string& line :
       cupel_docs::lines_of(fs::path(CUPEL_SOURCE_DIR) / "docs" / "install.md")) {
    if (line.find("find_package(cupel ") != std::string::npos) {
      EXPECT_THAT(line, testing::HasSubstr("(cupel " + minor + " "));
    }
    if (line.find(".deb`") != std::string::npos) {
      EXPECT_THAT(line, testing::HasSubstr("_" + version + "_"));
    }
    if (line.find(".tar.gz`") != std::string::npos) {
      EXPECT_THAT(line, testing::HasSubstr("-" + version + "-"));
    }
  }
}

}  // namespace
