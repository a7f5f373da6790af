// Completion of command lines. The scripts for the shells are a few lines each: they hand the words
// to `cupel completion --words WORD…` (bash: `--line LINE`) and insert the replies. Names in a run
// come from strangers. zsh and fish quote what they insert; for bash, which inserts replies as they
// are, the quoting is done here. Nothing here writes to the run. A failure is not reported, because
// somebody is typing: there are no replies then.

#include "word_completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/mode.h"
#include "cupel/core/printable.h"
#include "cupel/core/reduction.h"
#include "cupel/trial/trial.h"
#include "loaded_rules.h"
#include "shell_text.h"
#include "text_replacement.h"

namespace cupel::command_detail {
namespace {

using Words = std::vector<std::string>;

const Words kShells = {"bash", "zsh", "fish"};

// In the scripts NAME is the program's name as a word of a shell, and IDENTIFIER is the name with
// '_' for each character that a function's name cannot have.
constexpr const char* kBashScript =
    R"(# Completion of @NAME@ for bash. Use it by: source <(@NAME@ completion bash)
_@IDENTIFIER@() {
  local reply command=${COMP_WORDS[0]/#\~\//$HOME/}
  COMPREPLY=()
  while IFS= read -r reply; do
    COMPREPLY+=("$reply")
  done < <("$command" completion --line "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o bashdefault -o default -F _@IDENTIFIER@ @NAME@
)";

constexpr const char* kZshScript = R"(#compdef @NAME@
# Completion of @NAME@ for zsh. Put it into a file _@NAME@ in a folder of $fpath, or: source <(@NAME@ completion zsh)
_@IDENTIFIER@() {
  local -a replies
  local command=${words[1]/#\~\//$HOME/}
  replies=("${(@f)$("$command" completion --words "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  replies=("${(@)replies:#}")
  if (( $#replies )); then
    compadd -- "${replies[@]}"
  else
    _files
  fi
}
if [[ ${funcstack[1]} == _@IDENTIFIER@ ]]; then
  _@IDENTIFIER@ "$@"
else
  compdef _@IDENTIFIER@ @NAME@
fi
)";

constexpr const char* kFishScript =
    R"(# Completion of @NAME@ for fish. Use it by: @NAME@ completion fish | source
function __@IDENTIFIER@_words
    set -l words (commandline -opc)
    set -l command $words[1]
    set -e words[1]
    set -l last (commandline -ct | string unescape)
    set -l replies ($command completion --words $words "$last" 2>/dev/null)
    if set -q replies[1]
        printf '%s\n' $replies
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c @NAME@ -f -a '(__@IDENTIFIER@_words)'
)";

std::string script_for(const char* script, const std::string& program) {
  std::string identifier = program;
  for (char& c : identifier)
    if (!is_alphanumeric(c)) c = '_';
  std::string text(script);
  replace_all(text, "@NAME@", quoted_for_shell(program));
  replace_all(text, "@IDENTIFIER@", identifier);
  return text;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

Words commands_of(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Words options_of(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Returns the run at a path that somebody types; null where it cannot be read without a network.
std::unique_ptr<Trial> run_at(std::string place) {
  if (place.find("://") != std::string::npos) return nullptr;
  const char* const home = std::getenv("HOME");
  if (place.starts_with("~/") && home != nullptr) place.replace(0, 1, home);
  try {
    return create_trial(place);
  } catch (const std::exception&) {
    return nullptr;
  }
}

// The position that the words before the last one lead to.
struct Position {
  const Program& program;
  const CLI::App* command = nullptr;
  Words positionals = {};
  const CLI::Option* option = nullptr;  // the next word is its value
  bool only_positionals = false;        // behind "--"
};

Position position_behind(const CLI::App& app, const Program& program, const Words& words) {
  Position at{.program = program};
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == words.front()) at.command = command;
  if (at.command == nullptr) return at;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (at.option != nullptr) {
      at.option = nullptr;
    } else if (at.only_positionals || !word.starts_with('-') || word == "-") {
      at.positionals.push_back(word);
    } else if (word == "--") {
      at.only_positionals = true;
    } else if (word.find('=') == std::string::npos) {
      const CLI::Option* const option = at.command->get_option_no_throw(word);
      if (option != nullptr && takes_value(*option)) at.option = option;
    }
  }
  return at;
}

// Returns the values of an option or a positional argument of this name.
Words values_of(const std::string& name, const CLI::App& app, const Position& at) {
  const std::string command = at.command->get_name();
  Words values;
  if (name == "rule" || (name == "NAME" && command == "rules")) {
    for (const auto& rule : shown_rules(at.program.rules)) values.push_back(rule->name);
  } else if (name == "mode") {
    for (const Mode mode : kAllModes) values.emplace_back(to_string(mode));
  } else if (name == "reduction") {
    for (std::size_t i = 0; i < Reduction::kCount; ++i)
      values.emplace_back(to_string(Reduction::at(i)));
  } else if (name == "profile") {
    values = {"generic", "pytorch", "mxnet", "tensorflow", "xgboost"};
  } else if (name == "COMMAND") {
    values = commands_of(app);
  } else if (name == "SHELL") {
    values = kShells;
  } else if (!at.positionals.empty()) {
    const bool is_tensor = name == "TENSOR" || name == "tensor";
    if (!is_tensor && name != "collection" && name != "worker") return values;
    const std::unique_ptr<Trial> trial = run_at(at.positionals.front());
    if (trial == nullptr) return values;
    if (is_tensor) return trial->tensor_names();
    if (name == "worker") return trial->workers();
    return trial->collection_names();
  }
  return values;
}

std::string name_of_positional(const CLI::App& command, std::size_t index) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && index-- == 0) return option->get_name(true);
  return {};
}

Words candidates(const CLI::App& app, const Program& program, const Words& words) {
  const std::string& last = words.back();
  if (words.size() == 1) return last.starts_with('-') ? options_of(app) : commands_of(app);
  const Position at = position_behind(app, program, words);
  if (at.command == nullptr) return {};
  if (at.option != nullptr && !at.option->get_lnames().empty())
    return values_of(at.option->get_lnames().front(), app, at);
  if (at.option != nullptr) return {};
  if (at.only_positionals || !last.starts_with('-'))
    return values_of(name_of_positional(*at.command, at.positionals.size()), app, at);
  const std::size_t equals = last.find('=');
  if (!last.starts_with("--") || equals == std::string::npos) return options_of(*at.command);
  Words values = values_of(last.substr(2, equals - 2), app, at);
  for (std::string& value : values) value.insert(0, last, 0, equals + 1);
  return values;
}

// A line of bash up to the cursor, read as bash reads it, but without expansions.
struct BashLine {
  Words words;                    // without quotes; the last word is being typed
  std::string kept;               // the part of the last word that replies do not replace
  char quote = 0;                 // the quote that is open at the cursor
  bool has_closed_quote = false;  // the last word has a quote that is closed
};

BashLine read_bash_line(std::string_view line, std::string_view breaks) {
  BashLine result;
  result.words.emplace_back();
  bool inside = false;  // a word has begun
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    std::string& word = result.words.back();
    if (result.quote != 0 && c == result.quote) {
      result.quote = 0;
      result.has_closed_quote = true;
    } else if (c == '\\' && result.quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      inside = true;
    } else if (result.quote != 0) {
      word += c;
    } else if (c == '\'' || c == '"') {
      result.quote = c;
      result.kept = word;
      inside = true;
    } else if (is_blank(c)) {
      if (inside) result.words.emplace_back();
      inside = false;
      result.has_closed_quote = false;
      result.kept.clear();
    } else {
      word += c;
      inside = true;
      if (breaks.find(c) != std::string_view::npos) result.kept = word;
    }
  }
  return result;
}

bool is_harmless(char c) {
  return is_word(c) || std::string_view("-./+,:@%=").find(c) != std::string_view::npos ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

}  // namespace

void print_completion_script(const std::string& shell, const std::string& program, Printer out) {
  const auto print = [&](const char* script) { out << Composed{script_for(script, program)}; };
  if (shell == "bash") {
    print(kBashScript);
  } else if (shell == "zsh") {
    print(kZshScript);
  } else if (shell == "fish") {
    print(kFishScript);
  } else {
    throw UsageError("there is completion for bash, zsh and fish, not for \"" + shell + '"');
  }
}

std::vector<std::string> complete_words(const CLI::App& app, const Program& program,
                                        const std::vector<std::string>& words) {
  if (words.empty()) return commands_of(app);
  Words found = candidates(app, program, words);
  std::erase_if(found, [&](const std::string& text) {
    return !text.starts_with(words.back()) || printable(text) != text;
  });
  return found;
}

std::vector<std::string> complete_bash_line(const CLI::App& app, const Program& program,
                                            std::string_view line, std::string_view breaks) {
  BashLine typed = read_bash_line(line, breaks);
  typed.words.erase(typed.words.begin());  // the command itself
  // It is unknown here where bash begins to replace a word with a closed quote.
  if (typed.words.empty() || typed.has_closed_quote) return {};
  Words replies;
  for (const std::string& candidate : complete_words(app, program, typed.words)) {
    const std::string_view rest = std::string_view(candidate).substr(typed.kept.size());
    // Each kind of quote needs another quoting: within an open quote only plain names are replies.
    const bool is_plain = std::all_of(rest.begin(), rest.end(), is_harmless);
    if (typed.quote != 0 && !is_plain) continue;
    std::string& reply = replies.emplace_back();
    for (const char c : rest) {
      if (!is_harmless(c)) reply += '\\';
      reply += c;
    }
  }
  return replies;
}

}  // namespace cupel::command_detail
