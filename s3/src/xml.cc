// A reader of the small XML documents that S3 answers with. It reads from the front to the end
// once, with one listener call per element, and keeps the path and the text of open elements only.
//
// Documents come from servers and are not trusted: declarations are refused, so that no entity can
// expand, nesting has a limit of 16, and character references must be legal. A document with a
// mistake ends with false. The caller limits the size of the document. The reader has no state of
// its own between calls and may run on any thread.

#include "xml.h"

#include <optional>
#include <string>
#include <vector>

#include "cupel/core/number_text.h"
#include "cupel/core/utf8.h"

namespace cupel::s3_detail {
namespace {

constexpr std::size_t kDeepest = 16;
constexpr std::string_view kBlanks = " \t\r\n";

/// Reads "#38" or "#x26"; nothing for a character that no document may have.
std::optional<std::uint32_t> character_of(std::string_view reference) {
  const bool hexadecimal = reference.starts_with("#x");
  reference.remove_prefix(hexadecimal ? 2 : 1);
  const auto code = parse_integer<std::uint32_t>(reference, hexadecimal ? 16 : 10);
  const bool surrogate = code && *code >= 0xD800 && *code < 0xE000;
  return code && *code != 0 && *code <= 0x10FFFF && !surrogate ? code : std::nullopt;
}

bool append_entity(std::string& text, std::string_view name) {
  if (name.starts_with('#')) {
    const auto code = character_of(name);
    if (code) append_utf8(text, *code);
    return code.has_value();
  }
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name != known) continue;
    text += character;
    return true;
  }
  return false;
}

class Reader {
 public:
  Reader(std::string_view document, const XmlListener& listener)
      : rest_(document), listener_(listener) {}

  bool read() {
    while (!rest_.empty())
      if (rest_.front() == '<' ? !read_markup() : !read_text()) return false;
    return open_.empty() && has_root_;
  }

 private:
  struct Element {
    std::size_t path;  // length of the path up to and without it
    std::string text;
  };

  bool read_text() {
    const std::string_view raw = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(raw.size());
    if (open_.empty()) return raw.find_first_not_of(kBlanks) == std::string_view::npos;
    std::string& text = open_.back().text;
    for (std::size_t at = 0; at < raw.size();) {
      const std::size_t amp = std::min(raw.find('&', at), raw.size());
      text.append(raw.substr(at, amp - at));
      if (amp == raw.size()) break;
      const std::size_t end = raw.find(';', amp);
      if (end == std::string_view::npos || !append_entity(text, raw.substr(amp + 1, end - amp - 1)))
        return false;
      at = end + 1;
    }
    return true;
  }

  bool read_markup() {
    if (rest_.starts_with("<?")) return skip_to("?>").has_value();
    if (rest_.starts_with("<!--")) return skip_to("-->").has_value();
    if (rest_.starts_with("<![CDATA[")) return read_cdata();
    if (rest_.starts_with("<!")) return false;  // may declare entities
    const auto tag = skip_to(">");
    if (!tag) return false;
    std::string_view inside = tag->substr(1, tag->size() - 2);
    if (inside.starts_with('/')) return end_element(name_of(inside.substr(1)));
    const bool is_empty = inside.ends_with('/');
    if (is_empty) inside.remove_suffix(1);
    const std::string_view name = name_of(inside);
    return begin_element(name) && (!is_empty || end_element(name));
  }

  bool read_cdata() {
    constexpr std::size_t kOpening = 9;
    const auto section = skip_to("]]>");
    if (!section || open_.empty()) return false;
    open_.back().text.append(section->substr(kOpening, section->size() - kOpening - 3));
    return true;
  }

  /// Takes the text up to `end`, with it.
  std::optional<std::string_view> skip_to(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view taken = rest_.substr(0, at + end.size());
    rest_.remove_prefix(taken.size());
    return taken;
  }

  /// Returns "Key" for "s3:Key xmlns='…'".
  static std::string_view name_of(std::string_view tag) {
    tag = tag.substr(0, tag.find_first_of(kBlanks));
    const std::size_t colon = tag.find(':');
    return colon == std::string_view::npos ? tag : tag.substr(colon + 1);
  }

  bool begin_element(std::string_view name) {
    if (name.empty() || open_.size() == kDeepest || (open_.empty() && has_root_)) return false;
    has_root_ = true;
    open_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return true;
  }

  bool end_element(std::string_view name) {
    if (open_.empty()) return false;
    const std::size_t before = open_.back().path;
    const std::string_view opened = std::string_view(path_).substr(before == 0 ? 0 : before + 1);
    if (opened != name) return false;
    listener_(path_, open_.back().text);
    path_.resize(before);
    open_.pop_back();
    return true;
  }

  std::string_view rest_;
  const XmlListener& listener_;
  std::string path_;
  std::vector<Element> open_;
  bool has_root_ = false;
};

}  // namespace

bool read_xml(std::string_view document, const XmlListener& listener) {
  return Reader(document, listener).read();
}

}  // namespace cupel::s3_detail
