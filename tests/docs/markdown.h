#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cupel_docs {

/// A fenced block of a document.
struct Block {
  std::string document;
  std::size_t line = 0;  // of its opening fence
  std::string language;
  std::vector<std::string> lines;
};

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The blocks of one document, in any language.
inline std::vector<Block> blocks_of(const std::filesystem::path& document) {
  std::vector<Block> blocks;
  bool inside = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(document)) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({document.filename().string(), number, line.substr(3), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  return blocks;
}

/// The blocks of one document in a language.
inline std::vector<Block> blocks_of(const std::filesystem::path& document,
                                    std::string_view language) {
  std::vector<Block> blocks = blocks_of(document);
  std::erase_if(blocks, [&](const Block& block) { return block.language != language; });
  return blocks;
}

/// The file that a lua block is: its first line is `-- NAME.lua`. Else empty.
inline std::string file_name_of(const Block& block) {
  if (block.language != "lua" || block.lines.empty()) return {};
  const std::string& line = block.lines.front();
  if (!line.starts_with("-- ") || !line.ends_with(".lua")) return {};
  const std::string name = line.substr(3);
  return name.find(' ') == std::string::npos ? name : "";
}

/// "…" in `pattern` stands for any text.
inline bool line_matches(std::string_view pattern, std::string_view line) {
  constexpr std::string_view kAnything = "…";
  const std::size_t at = pattern.find(kAnything);
  if (at == std::string_view::npos) return pattern == line;
  if (!line.starts_with(pattern.substr(0, at))) return false;
  const std::string_view rest = pattern.substr(at + kAnything.size());
  for (std::size_t begin = at; begin <= line.size(); ++begin)
    if (line_matches(rest, line.substr(begin))) return true;
  return false;
}

/// README.md, docs/*.md, docs/rules/*.md and that of the example rules.
inline std::vector<std::filesystem::path> documents() {
  const std::filesystem::path root(CUPEL_SOURCE_DIR);
  std::vector<std::filesystem::path> found = {root / "README.md",
                                              root / "examples" / "rules" / "README.md"};
  for (const auto& folder : {root / "docs", root / "docs" / "rules"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

/// The rows of a document's tables whose first cell begins with `heading` in the header row:
/// cells without blanks and backquotes around them.
inline std::vector<std::vector<std::string>> table_of(const std::filesystem::path& document,
                                                      std::string_view heading) {
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
        cell += line[++i];
      } else if (line[i] == '|') {
        const auto begin = cell.find_first_not_of(' ');
        const auto end = cell.find_last_not_of(' ');
        cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
        cell.clear();
      } else {
        cell += line[i];
      }
    }
    return cells;
  };
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  for (const std::string& line : lines_of(document)) {
    if (!line.starts_with("|")) {
      inside = false;
    } else if (const auto cells = cells_of(line); !inside) {
      inside = !cells.empty() && cells.front() == heading;
    } else if (!cells.front().starts_with("---")) {
      rows.push_back(cells);
    }
  }
  return rows;
}

/// The texts between backquotes in a cell.
inline std::vector<std::string> quoted_in(const std::string& cell) {
  std::vector<std::string> texts;
  for (std::size_t at = cell.find('`'); at != std::string::npos;) {
    const std::size_t end = cell.find('`', at + 1);
    if (end == std::string::npos) break;
    texts.push_back(cell.substr(at + 1, end - at - 1));
    at = cell.find('`', end + 1);
  }
  return texts;
}

}  // namespace cupel_docs
