// The template of a rule in Lua that `rules --new` writes. The template works as it is, and its
// comments describe the parts of a rule; scripting's tests run it. A name that is no identifier is
// a UsageError.

#include "rule_template.h"

#include <algorithm>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "text_replacement.h"

namespace cupel::command_detail {
namespace {

constexpr std::string_view kTemplate =
    R"(-- @NAME@: what it finds, and why that is bad, in a line or two.
--
--   @PROGRAM@ check TRIAL --rule @FILE@    says whether what is saved feeds it
--   @PROGRAM@ watch TRIAL --rule @FILE@    judges a run, also while it grows
--   add --explain to see what it read at every step

return cupel.rule {
  name = "@NAME@",
  summary = "gradients are too large",

  -- Parameters by name. The type of the default is the parameter's: 10.0 takes any number, 10 whole
  -- ones. --rule @FILE@,threshold=5 sets one; a plain default, threshold = 10.0, does as well.
  params = {
    threshold = { default = 10.0, at_least = 0, help = "fires when a mean magnitude is above" },
  },

  -- What has to be saved, which `@PROGRAM@ check` proves.
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

// Returns LossPlateau for "loss_plateau".
std::string camel_case(std::string_view name) {
  std::string text;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') text += begins ? to_upper(c) : c;
    begins = c == '_';
  }
  return text;
}

}  // namespace

std::string rule_template(std::string_view program, std::string_view name, std::string_view file) {
  constexpr std::size_t kLongest = 60;
  const bool legal = !name.empty() && name.size() <= kLongest && is_letter(name.front()) &&
                     std::ranges::all_of(name, is_word);
  if (!legal)
    throw UsageError(
        "a rule's name is letters, digits and '_', 60 at most, and begins with a letter: " +
        std::string(name));
  const std::string rule = camel_case(name);
  std::string text(kTemplate);
  replace_all(text, "@NAME@", rule);
  replace_all(text, "@PROGRAM@", program);
  replace_all(text, "@FILE@", file.empty() ? snake_case(rule) + ".lua" : std::string(file));
  return text;
}

}  // namespace cupel::command_detail
