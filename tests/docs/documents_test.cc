// Keeps README.md, docs/*.md and docs/rules/*.md true. There are these kinds of fenced blocks:
//
//   cpp      Its lines stand, one after another, in a source that is compiled: in examples/ or in
//            tests/docs/. Indentation and blank lines do not count. The tour of docs/api.md is
//            instead taken out of the document by the build and compiled as it is (api_tour.cc).
//   console  Lines that begin with "$ " are given to one shell per document, in a scratch directory
//            with this build's programs in build/dev/bin, in build/demo/bin and on the PATH, and
//            the examples in examples; scripts/demo.sh runs the demo of this build. What a command
//            prints, to either stream, must be what follows it. In it "…" stands for any text
//            within a line, and a line that is "…" for any lines.
//   lua      One that begins with `-- NAME.lua` is a file of that name, there for the commands
//            behind it. One in README.md stands in a file of examples/rules. The others are for
//            lua_document_test.cc.
//   others   Are not looked at.

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "markdown.h"
#include "scratch.h"

namespace {

using cupel_docs::Block;
namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

Lines without_layout(const Lines& lines) {
  Lines result;
  for (const std::string& line : lines) {
    const auto begin = line.find_first_not_of(' ');
    if (begin != std::string::npos)
      result.push_back(line.substr(begin, line.find_last_not_of(' ') - begin + 1));
  }
  return result;
}

bool contains(const Lines& text, const Lines& part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end()) != text.end();
}

bool lines_match(std::span<const std::string> pattern, std::span<const std::string> lines) {
  if (pattern.empty()) return lines.empty();
  if (pattern.front() == "…") {
    for (std::size_t skipped = 0; skipped <= lines.size(); ++skipped)
      if (lines_match(pattern.subspan(1), lines.subspan(skipped))) return true;
    return false;
  }
  return !lines.empty() && cupel_docs::line_matches(pattern.front(), lines.front()) &&
         lines_match(pattern.subspan(1), lines.subspan(1));
}

struct Command {
  std::string place;
  std::string text;
  Lines expected;
};

// Writes a lua block that is a file.
Command writing(const Block& block) {
  std::string text = "cat > " + cupel_docs::file_name_of(block) + " <<'END_OF_FILE'\n";
  for (const std::string& line : block.lines) text += line + "\n";
  return {block.document + ":" + std::to_string(block.line), text + "END_OF_FILE", {}};
}

std::vector<Command> commands_of(const fs::path& document) {
  std::vector<Command> commands;
  for (const Block& block : cupel_docs::blocks_of(document)) {
    if (!cupel_docs::file_name_of(block).empty()) commands.push_back(writing(block));
    if (block.language != "console") continue;
    std::size_t number = block.line;
    const std::size_t first = commands.size();
    for (const std::string& line : block.lines) {
      ++number;
      if (line.starts_with("$ ")) {
        commands.push_back({block.document + ":" + std::to_string(number), line.substr(2), {}});
      } else if (commands.size() > first) {
        commands.back().expected.push_back(line);
      } else {
        ADD_FAILURE() << block.document << ":" << number << ": a console block begins with \"$ \"";
      }
    }
    // Blank lines at the end of an output are layout.
    for (std::size_t i = first; i < commands.size(); ++i)
      while (!commands[i].expected.empty() && commands[i].expected.back().empty())
        commands[i].expected.pop_back();
  }
  return commands;
}

// What each command prints; they are run by one shell, one after another.
std::vector<Lines> outputs_of(const std::vector<Command>& commands) {
  constexpr char kEnd = '\x1e';
  {
    std::ofstream script("session.sh");
    script << "PATH=\"$PWD/build/dev/bin:$PWD/build/dev/bin/examples:$PATH\"\nexec 2>&1\n";
    for (const Command& command : commands)
      script << command.text << "\nstatus=$?\nprintf '\\036'\n(exit $status)\n";
  }
  std::string text;
  FILE* pipe = ::popen("sh ./session.sh", "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  for (int c = ::fgetc(pipe); c != EOF; c = ::fgetc(pipe)) text += static_cast<char>(c);
  ::pclose(pipe);

  std::vector<Lines> outputs;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(kEnd, begin);
    if (end == std::string::npos) break;
    std::istringstream one(text.substr(begin, end - begin));
    Lines lines;
    for (std::string line; std::getline(one, line);) lines.push_back(line);
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    outputs.push_back(std::move(lines));
    begin = end + 1;
  }
  return outputs;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Documents, every_cpp_block_stands_in_a_compiled_source) {
  std::vector<Lines> sources;
  for (const char* folder : {"examples", "tests/docs"})
    for (const auto& entry : fs::directory_iterator(fs::path(CUPEL_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".cc")
        sources.push_back(without_layout(cupel_docs::lines_of(entry.path())));
  sources.push_back(without_layout(cupel_docs::lines_of(CUPEL_API_TOUR)));

  std::size_t blocks = 0;
  for (const fs::path& document : cupel_docs::documents()) {
    for (const Block& block : cupel_docs::blocks_of(document, "cpp")) {
      ++blocks;
      const Lines part = without_layout(block.lines);
      EXPECT_TRUE(std::any_of(sources.begin(), sources.end(),
                              [&](const Lines& source) { return contains(source, part); }))
          << block.document << ":" << block.line << ": in no source that is compiled";
    }
  }
  EXPECT_GT(blocks, 10U);
}

TEST(Documents, every_lua_block_of_the_readme_stands_in_an_example_rule) {
  const fs::path root(CUPEL_SOURCE_DIR);
  const std::vector<Block> blocks = cupel_docs::blocks_of(root / "README.md", "lua");
  EXPECT_FALSE(blocks.empty());
  for (const Block& block : blocks) {
    bool found = false;
    for (const auto& rule : fs::directory_iterator(root / "examples" / "rules"))
      found = found || contains(cupel_docs::lines_of(rule.path()), block.lines);
    EXPECT_TRUE(found) << "README.md:" << block.line;
  }
}

// What scripts/demo.sh comes to when everything is built.
void write_demo_script() {
  fs::create_directories("scripts");
  std::ofstream("scripts/demo.sh") << "exec build/demo/bin/cupel demo runs/demo\n";
  fs::permissions("scripts/demo.sh", fs::perms::owner_all);
}

TEST(Documents, every_console_block_prints_what_it_shows) {
  for (const fs::path& document : cupel_docs::documents()) {
    const std::vector<Command> commands = commands_of(document);
    if (commands.empty()) continue;
    const cupel_docs::Scratch scratch;
    for (const char* build : {"build/dev", "build/demo"}) {
      fs::create_directories(build);
      fs::create_directory_symlink(CUPEL_BIN_DIR, fs::path(build) / "bin");
    }
    write_demo_script();
    fs::create_directory_symlink(fs::path(CUPEL_SOURCE_DIR) / "examples", "examples");
    const std::vector<Lines> outputs = outputs_of(commands);
    ASSERT_EQ(outputs.size(), commands.size()) << document << ": the shell ended early";
    for (std::size_t i = 0; i < commands.size(); ++i)
      EXPECT_TRUE(lines_match(commands[i].expected, outputs[i]))
          << commands[i].place << ": $ " << commands[i].text << "\nprinted\n"
          << joined(outputs[i]) << "and not\n"
          << joined(commands[i].expected);
  }
}

TEST(Documents, no_line_of_a_text_is_longer_than_100_columns) {
  // Counted in characters: bytes that continue one do not count.
  const fs::path root(CUPEL_SOURCE_DIR);
  std::vector<fs::path> files;
  for (const char* name :
       {"README.md", "bench/README.md", "docs/api.md", "docs/architecture.md", "docs/cli.md",
        "docs/configuration.md", "docs/lua.md", "docs/naming.md", "docs/overhead.md",
        "docs/resuming.md", "docs/rules-on-real-training.md", "docs/other-readers.md",
        "docs/frameworks.md", "examples/rules/README.md"})
    files.push_back(root / name);
  for (const auto& page : fs::directory_iterator(root / "docs" / "rules"))
    files.push_back(page.path());
  for (const fs::path& file : files) {
    std::size_t number = 0;
    bool inside = false;
    for (const std::string& line : cupel_docs::lines_of(file)) {
      ++number;
      if (line.starts_with("```")) inside = !inside;
      if (inside || line.starts_with("|")) continue;
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      });
      EXPECT_LE(columns, 100) << file << ":" << number;
    }
  }
}

TEST(Documents, links_lead_to_files_that_are_there) {
  for (const fs::path& document : cupel_docs::documents()) {
    std::size_t number = 0;
    bool inside = false;
    for (const std::string& line : cupel_docs::lines_of(document)) {
      ++number;
      if (line.starts_with("```")) inside = !inside;
      if (inside) continue;
      for (std::size_t at = line.find("]("); at != std::string::npos;
           at = line.find("](", at + 1)) {
        std::string target = line.substr(at + 2, line.find(')', at) - at - 2);
        target = target.substr(0, target.find('#'));
        if (target.empty() || target.starts_with("http")) continue;
        EXPECT_TRUE(fs::exists(document.parent_path() / target))
            << document.filename() << ":" << number << ": " << target;
      }
    }
  }
}

}  // namespace
