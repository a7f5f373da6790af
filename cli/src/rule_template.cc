#include "rule_template.h"

#include <algorithm>

#include "cupel/core/error.h"

namespace cupel {
namespace {

constexpr std::string_view kTemplate =
    R"(-- @NAME@: what it finds, and why that is bad, in a line or two.
--
--   cupel check TRIAL --rule @FILE@    says whether what is saved feeds it
--   cupel watch TRIAL --rule @FILE@    judges a run, also while it grows
--   add --explain to see what it read at every step

return cupel.rule {
  name = "@NAME@",
  summary = "gradients are too large",

  -- Parameters by name. The type of the default is the parameter's: 10.0 takes any number, 10 whole
  -- ones. --rule @FILE@,threshold=5 sets one; a plain default, threshold = 10.0, does as well.
  params = {
    threshold = { default = 10.0, at_least = 0, help = "fires when a mean magnitude is above" },
  },

  -- What has to be saved, which `cupel check` proves.
  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },

  -- Called at every saved step, in order. What is kept in self is there at the next one.
  invoke_at_step = function(self, trial, step)
    local threshold = self.params.threshold
    for name, worker, mean in trial:each {
      step = step, collection = "gradients", reductions = { "abs_mean" },
    } do
      if mean > threshold then
        self:issue {
          tensor = name,
          worker = worker,
          value = mean,
          threshold = threshold,
          message = "abs_mean " .. cupel.comparison(mean, ">", threshold),
        }
      end
    end
  end,

  -- Called once behind the last step; on_tick(self, seconds) is called about once a second while no
  -- new step comes.
  on_end = function(self)
    -- print("the last step has been judged")
  end,
}
)";

bool is_name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_digit(char c) { return c >= '0' && c <= '9'; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "loss_plateau" becomes LossPlateau.
std::string camel_case(std::string_view name) {
  std::string text;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') text += begins ? upper(c) : c;
    begins = c == '_';
  }
  return text;
}

// "LossPlateau" becomes loss_plateau, and "NaNInGPU" na_n_in_gpu.
std::string snake_case(std::string_view name) {
  const auto is_small = [&](std::size_t at) {
    return at < name.size() && name[at] == lower(name[at]);
  };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = !is_small(i) && i > 0 && (is_small(i - 1) || is_small(i + 1));
    if (begins_word && i + 1 < name.size()) text += '_';
    text += lower(name[i]);
  }
  return text;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::string rule_template(std::string_view name, std::string_view file) {
  constexpr std::size_t kLongest = 60;
  const bool legal = !name.empty() && name.size() <= kLongest && is_name_letter(name.front()) &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return is_name_letter(c) || is_name_digit(c) || c == '_';
                     });
  if (!legal)
    throw UsageError(
        "a rule's name is letters, digits and '_', 60 at most, and begins with a letter: " +
        std::string(name));
  const std::string rule = camel_case(name);
  std::string text(kTemplate);
  replace_all(text, "@NAME@", rule);
  replace_all(text, "@FILE@", file.empty() ? snake_case(rule) + ".lua" : std::string(file));
  return text;
}

}  // namespace cupel
