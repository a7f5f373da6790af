// What a tensor, or a collection, offers to a need: sources, and steps by mode.
//
// Steps of a run are counted one by one; steps of a plan follow from a SaveConfig, whose end may be
// open. gaps_of_offer() compares both with a need in the same way. Pure functions, for any thread.

#include "saved_offer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cupel::rules_detail {
namespace {

// Where the interval names more, its own distance is theirs.
constexpr std::int64_t kMostListed = 20'000;

std::string counted_steps(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " step" : " steps");
}

std::string of_mode(std::optional<Mode> mode) {
  return mode ? " of " + std::string(to_string(*mode)) : std::string();
}

std::string with_parameter(std::string text, const NeededNumber& number) {
  return number.parameter.empty() ? text : text + " (" + number.parameter + ")";
}

std::string parts_text(const SavedParts& parts) {
  std::string text;
  const auto add = [&](std::string_view what) {
    text.append(text.empty() ? "" : ", ").append(what);
  };
  if (parts.raw) add("raw values");
  parts.reductions.for_each([&](Reduction reduction) { add(to_string(reduction)); });
  if (text.empty() && parts.shape) add("the shape");
  return text.empty() ? "nothing" : "only " + text;
}

class Judge {
 public:
  Judge(const TensorNeed& need, const SavedOffer& offer, const OfferedModes& modes)
      : need_(need), offer_(offer), modes_(modes) {}

  std::vector<Gap> gaps() {
    if (!offer_.usable)
      add(Gap::Kind::Source, {}, "of " + offer_.name + " " + parts_text(offer_.parts) + " is saved",
          sources_text(need_.suffices));
    // Of a run only the usable steps are known then: none.
    if (offer_.usable || !offer_.modes.empty()) judge_modes();
    return std::move(gaps_);
  }

 private:
  void judge_modes() {
    if (!need_.each_of.empty() && !modes_.pairs_by_name) {
      for (const Mode mode : need_.each_of) {
        if (is_saved_in(mode))
          judge_steps(mode, offer_.modes.at(mode), gaps_);
        else
          missing_mode(mode);
      }
      return;
    }
    const bool may_be_any = need_.modes_by_tensor && modes_.are_planned && need_.modes.size() > 1;
    if (need_.modes.empty() || may_be_any) return judge_any();
    for (const Mode mode : need_.modes) {
      if (mode == Mode::Global) {
        if (offer_.all.count > 0) return judge_steps({}, offer_.all, gaps_);
        return missing_mode(mode);
      }
      const bool judged =
          need_.modes_by_tensor
              ? is_saved_in(mode)
              : std::find(modes_.saved.begin(), modes_.saved.end(), mode) != modes_.saved.end();
      if (!judged) continue;
      if (is_saved_in(mode)) return judge_steps(mode, offer_.modes.at(mode), gaps_);
      return missing_mode(mode);
    }
    missing_mode(need_.modes.front());
  }

  // Each mode is judged by itself; one that can be is enough.
  void judge_any() {
    std::vector<Gap> least;
    for (const auto& [mode, steps] : offer_.modes) {
      std::vector<Gap> found;
      judge_steps(mode, steps, found);
      if (found.empty()) return;
      if (least.empty() || found.size() < least.size()) least = std::move(found);
    }
    if (offer_.modes.empty()) return missing_mode(Mode::Global);
    gaps_.insert(gaps_.end(), least.begin(), least.end());
  }

  bool is_saved_in(Mode mode) const {
    const auto found = offer_.modes.find(mode);
    return found != offer_.modes.end() && found->second.count > 0;
  }

  void missing_mode(Mode mode) {
    const std::string steps =
        mode == Mode::Global ? "at any step" : "at steps of " + std::string(to_string(mode));
    add(Gap::Kind::Mode, "", offer_.name + " is not saved " + steps,
        mode == Mode::Global ? "some saved steps" : "steps of " + std::string(to_string(mode)));
  }

  void judge_steps(std::optional<Mode> mode, const SavedSteps& steps, std::vector<Gap>& into) {
    const NeededNumber& count = need_.steps_in(mode.value_or(Mode::Global));
    const bool enough = !modes_.steps_are_known || steps.count >= count.value;
    const auto& apart = need_.at_least_apart;
    const bool far = !modes_.steps_are_known || !apart || steps.last - steps.first >= apart->value;
    if (!enough) {
      put(into, Gap::Kind::Steps, count.parameter,
          offer_.name + " is saved at " + counted_steps(steps.count) + of_mode(mode),
          with_parameter(counted_steps(count.value), count));
    } else if (!far) {
      put(into, Gap::Kind::Steps, apart->parameter,
          "the saved steps" + of_mode(mode) + " of " + offer_.name + " are " +
              std::to_string(steps.last - steps.first) + " apart",
          with_parameter("steps " + std::to_string(apart->value) + " apart", *apart));
    }
    const auto& every = need_.at_least_every;
    if (every && steps.closest && *steps.closest > every->value)
      put(into, Gap::Kind::Interval, every->parameter,
          offer_.name + " is saved every " + counted_steps(*steps.closest) + of_mode(mode),
          with_parameter("two saved steps at most " + std::to_string(every->value) + " apart",
                         *every));
  }

  void add(Gap::Kind kind, std::string parameter, std::string found, std::string needed) {
    put(gaps_, kind, std::move(parameter), std::move(found), std::move(needed));
  }
  static void put(std::vector<Gap>& into, Gap::Kind kind, std::string parameter, std::string found,
                  std::string needed) {
    into.push_back({.kind = kind,
                    .parameter = std::move(parameter),
                    .tensors = {},
                    .found = std::move(found),
                    .needed = std::move(needed),
                    .closing = {}});
  }

  const TensorNeed& need_;
  const SavedOffer& offer_;
  const OfferedModes& modes_;
  std::vector<Gap> gaps_;
};

SavedSteps steps_of(const SaveConfigMode& config) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  SavedSteps steps;
  const std::int64_t interval = std::max<std::int64_t>(1, config.save_interval);
  const std::int64_t over = config.start_step % interval;
  const bool has_first = over == 0 || config.start_step <= kMost - interval;
  const std::int64_t first = over == 0 ? config.start_step : config.start_step - over + interval;
  const std::int64_t end = config.end_step.value_or(kMost);
  const std::int64_t times = has_first && first < end ? (end - 1 - first) / interval + 1 : 0;
  std::vector<std::int64_t> listed = config.save_steps;
  const std::int64_t spelled = std::min(times, kMostListed);
  for (std::int64_t i = 0; i < spelled; ++i) listed.push_back(first + i * interval);
  std::sort(listed.begin(), listed.end());
  listed.erase(std::unique(listed.begin(), listed.end()), listed.end());
  for (const std::int64_t step : listed) steps.add(step);
  if (times > spelled) {
    steps.count += times - spelled;
    steps.last = std::max(steps.last, first + (times - 1) * interval);
  }
  return steps;
}

}  // namespace

void SavedSteps::add(std::int64_t step) {
  if (count++ == 0) {
    first = last = step;
    return;
  }
  const std::int64_t distance = step - last;
  if (distance > 0) closest = std::min(closest.value_or(distance), distance);
  last = std::max(last, step);
}

std::vector<Gap> gaps_of_offer(const TensorNeed& need, const SavedOffer& offer,
                               const OfferedModes& modes) {
  return Judge(need, offer, modes).gaps();
}

bool saves_in(const SavedCollection& saved, Mode mode) {
  const bool training_only = is_training_only_collection(saved.collection.name());
  if (training_only && (mode == Mode::Eval || mode == Mode::Predict)) return false;
  return steps_of(saved.save_config.mode(mode)).count > 0;
}

SavedOffer offer_of(const SavedCollection& saved, const TensorNeed& need) {
  SavedOffer offer;
  offer.name = "the collection " + saved.collection.name();
  // Counts are saved whenever values are measured.
  const bool looked_at = saved.raw || !saved.reductions.empty();
  offer.parts = {looked_at, saved.shape || saved.raw, saved.raw, saved.reductions};
  offer.usable = std::any_of(need.suffices.begin(), need.suffices.end(),
                             [&](const TensorSource& source) { return source.is_in(offer.parts); });
  for (const Mode mode : kAllModes) {
    if (!saves_in(saved, mode)) continue;
    const SavedSteps steps = steps_of(saved.save_config.mode(mode));
    offer.modes.emplace(mode, steps);
    if (steps.count > offer.all.count) offer.all = steps;
  }
  return offer;
}

std::string choosing_parameter(const NeededTensors& part) {
  const std::string_view kind = part.collections.empty() ? "regex" : "collection";
  for (const std::string& parameter : part.parameters)
    if (parameter.find(kind) != std::string::npos) return parameter;
  return {};
}

}  // namespace cupel::rules_detail
