// A table of Lua does not know the lines of its fields, so that they are looked for in the text of
// the script. The search finds the braces that open the tables of the calls, goes through the keys
// of each table, and enters the tables in which a wanted field can be. Commas inside of brackets
// and of functions separate no fields, for which it counts brackets and blocks. The script may be
// hostile: its tokens are passed once to find the calls, and each table is read once, however many
// calls and fields there are. The script has been compiled before, so brackets and blocks fit; a
// text where they do not gives some line, and no error. Any thread may call it.

#include "field_lines.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "source_tokens.h"

namespace cupel::scripting_detail {
namespace {

using Kind = SourceToken::Kind;

// The text of a literal without its quotes; as it is written where it has escapes.
std::string_view unquoted(std::string_view literal) {
  const std::size_t quotes = literal.front() == '[' ? literal.find('[', 1) + 1 : 1;
  return literal.size() < 2 * quotes ? std::string_view()
                                     : literal.substr(quotes, literal.size() - 2 * quotes);
}

class FieldFinder {
 public:
  FieldFinder(const SourceTokens& tokens, FieldLines& fields) : tokens_(tokens), fields_(fields) {
    advance();
  }

  // Goes through a table behind its opening brace, up to its closing one.
  void read_table(const std::string& path) {
    for (std::int64_t entries = 0; !at_end_of_table();) {
      const std::int64_t line = token_.line;
      std::optional<std::string> key = take_key();
      if (!key) key = std::to_string(++entries);
      if (key->empty())
        skip_value();
      else
        read_value(path.empty() ? *key : path + "." + *key, line);
      if (token_.is_sign(",") || token_.is_sign(";")) advance();
    }
  }

 private:
  void advance() { token_ = tokens_.next(); }

  bool at_end_of_table() const { return token_.kind == Kind::End || token_.is_sign("}"); }

  // Takes `name =` or `["name"] =`; nothing where the entry has no key. A computed key is empty.
  std::optional<std::string> take_key() {
    SourceTokens rest = tokens_;
    if (token_.kind == Kind::Name && rest.next().is_sign("=")) {
      const std::string key(token_.text);
      tokens_ = rest;
      advance();
      return key;
    }
    if (!token_.is_sign("[")) return std::nullopt;
    advance();
    rest = tokens_;
    std::string key;
    if (rest.next().is_sign("]")) {
      if (token_.kind == Kind::Text) key = unquoted(token_.text);
      if (token_.kind == Kind::Number) key = token_.text;
    }
    skip_to_closing_bracket();
    advance();
    if (token_.is_sign("=")) advance();
    return key;
  }

  // Goes on to the bracket that closes a computed key.
  void skip_to_closing_bracket() {
    for (int brackets = 0; token_.kind != Kind::End; advance()) {
      if (token_.kind != Kind::Sign) continue;
      const char sign = token_.text.front();
      if (brackets == 0 && sign == ']') return;
      if (sign == '(' || sign == '[' || sign == '{') ++brackets;
      if (sign == ')' || sign == ']' || sign == '}') --brackets;
    }
  }

  // Takes the value of the field `path`, whose line is found here.
  void read_value(const std::string& path, std::int64_t line) {
    bool is_wanted_inside = false;
    for (auto field = fields_.lower_bound(path);
         field != fields_.end() && field->first.starts_with(path); ++field) {
      const bool is_inside = field->first.size() > path.size();
      if (is_inside && field->first[path.size()] != '.') continue;
      field->second = line;
      is_wanted_inside |= is_inside;
    }
    if (is_wanted_inside && token_.is_sign("{")) {
      advance();
      read_table(path);
      if (token_.is_sign("}")) advance();
    }
    skip_value();
  }

  // Goes on to the end of the entry: a separator or the closing brace of the table.
  void skip_value() {
    int brackets = 0;
    int blocks = 0;
    for (; token_.kind != Kind::End; advance()) {
      if (token_.kind == Kind::Name) {
        const std::string_view word = token_.text;
        if (word == "function" || word == "do" || word == "if" || word == "repeat") ++blocks;
        if (word == "end" || word == "until") --blocks;
      }
      if (token_.kind != Kind::Sign) continue;
      const char sign = token_.text.front();
      const bool is_outside = brackets == 0 && blocks <= 0;
      if (is_outside && (sign == ',' || sign == ';' || sign == '}')) return;
      if (sign == '(' || sign == '[' || sign == '{') ++brackets;
      if (sign == ')' || sign == ']' || sign == '}') --brackets;
    }
  }

  SourceTokens tokens_;
  SourceToken token_;
  FieldLines& fields_;
};

// Finds the tables of calls, for lines that grow.
class CallFinder {
 public:
  explicit CallFinder(std::string_view script) : next_line_{.tokens = SourceTokens(script)} {}

  // Returns readers behind the opening braces of the tables that are passed to cupel.rule in a
  // line, or else to functions of other names.
  std::vector<SourceTokens> find(std::int64_t line) {
    std::vector<SourceTokens> of_rule;
    std::vector<SourceTokens> of_others;
    Reader reader = next_line_;
    while (reader.last_but_one.line <= line && of_rule.size() < kMostCalls) {
      if (reader.last.line <= line) next_line_ = reader;
      const SourceToken token = reader.tokens.next();
      if (token.kind == Kind::End) break;
      const SourceToken& function = reader.last.is_sign("(") ? reader.last_but_one : reader.last;
      const bool is_call = token.is_sign("{") && function.kind == Kind::Name &&
                           !is_keyword(function.text) &&
                           (function.line == line || token.line == line);
      if (is_call && function.text == "rule")
        of_rule.push_back(reader.tokens);
      else if (is_call && of_others.empty())
        of_others.push_back(reader.tokens);
      reader.last_but_one = std::exchange(reader.last, token);
    }
    return of_rule.empty() ? of_others : of_rule;
  }

 private:
  static constexpr std::size_t kMostCalls = 1000;
  struct Reader {
    SourceTokens tokens;
    SourceToken last = {};
    SourceToken last_but_one = {};
  };
  Reader next_line_;  // before the first token behind the lines that were searched
};

// A table in the script, with the fields that are wanted of it.
struct WantedTable {
  SourceTokens tokens;  // behind the opening brace
  FieldLines fields = {};
};

}  // namespace

void find_field_lines(std::string_view script, std::map<RuleCall, FieldLines>& calls) {
  std::map<std::size_t, WantedTable> tables;  // by their positions
  std::map<RuleCall, std::size_t> positions;  // of the tables of calls
  CallFinder finder(script);
  std::vector<SourceTokens> in_line;
  std::int64_t line = 0;
  for (const auto& [call, fields] : calls) {
    if (call.line != line) in_line = finder.find(call.line);
    line = call.line;
    if (in_line.empty()) continue;
    // A call that is made several times is written once.
    const SourceTokens& tokens = in_line[std::min(call.ordinal, in_line.size() - 1)];
    positions[call] = tokens.position();
    WantedTable& table = tables.try_emplace(tokens.position(), WantedTable{tokens}).first->second;
    for (const auto& [path, unknown] : fields) table.fields[path] = 0;
  }
  for (auto& [position, table] : tables) FieldFinder(table.tokens, table.fields).read_table("");
  for (auto& [call, fields] : calls) {
    const auto position = positions.find(call);
    for (auto& [path, found] : fields) {
      const std::int64_t in_table =
          position == positions.end() ? 0 : tables.at(position->second).fields.at(path);
      found = in_table > 0 ? in_table : call.line;
    }
  }
}

}  // namespace cupel::scripting_detail
