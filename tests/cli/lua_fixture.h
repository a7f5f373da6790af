#pragma once

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "cli/cli_fixture.h"

namespace cupel::testing {

/// A rule that fires on large losses.
inline constexpr const char* kTooLarge = R"(return cupel.rule {
  name = "LossTooLarge",
  summary = "a loss is too large",
  params = { threshold = { default = 10.0, help = "fires above this" } },
  needs = { collections = { "losses" }, reductions = { "mean" } },
  invoke_at_step = function(self, trial, step)
    local most = self.params.threshold
    local losses = { step = step, collection = "losses", reductions = "mean" }
    for name, worker, mean in trial:each(losses) do
      if mean > most then
        self:issue { tensor = name, worker = worker, value = mean, threshold = most,
          message = cupel.comparison(mean, ">", most) }
      end
    end
  end,
})";

/// A run with a loss, and a directory for files of rules.
class LuaCommand : public CliTest {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  std::string too_large() const { return write("mine.lua", kTooLarge); }
  std::string text_of(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void save(std::initializer_list<double> losses) {
    writer_.collection("losses", {"loss"});
    for (const double loss : losses) writer_.save(next_++, {scalar("loss", loss)});
  }
  Ran watch(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"watch", path()});
    return run(arguments);
  }

  WorkerWriter writer_{store_};
  std::int64_t next_ = 0;
};

/// A rule that adds up in its state, and does not say what it needs.
inline constexpr const char* kRunning = R"(return cupel.rule {
  name = "RunningSum",
  invoke_at_step = function(self, trial, step)
    self.sum = (self.sum or 0) + trial:tensor("loss"):reduction_value(step, "mean")
    self:issue { tensor = "loss", value = self.sum }
  end,
})";

}  // namespace cupel::testing
