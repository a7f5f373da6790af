#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/text_pattern.h"
#include "cupel/trial/trial.h"
#include "held.h"
#include "lua_state.h"
#include "object_type.h"
#include "rule_context.h"

namespace cupel::scripting_detail {

/// Instructions that a query of the index counts as.
inline constexpr std::int64_t kQuery = 20;

/// Tensors that a script goes through again and again: those of collections and those in whose
/// names one of its patterns is found, which may be a search that is interrupted; all of them if
/// neither is given.
class ScriptSelection {
 public:
  /// `held` is what they take.
  ScriptSelection(Held held, std::vector<std::string> collections,
                  std::vector<TextPattern> patterns);
  /// Calls `visit` for everything selected that was saved at a step, by tensor name, then worker.
  void visit_step(lua_State* lua, const Trial& trial, std::int64_t step, Mode mode,
                  const Trial::RecordVisitor& visit);

 private:
  // Whether a pattern is found in a name, which lives as long as the trial.
  bool has(lua_State* lua, const std::string& name);

  Held held_;
  NameSelection of_collections_;
  NameSelection all_;
  std::vector<TextPattern> patterns_;
  std::unordered_map<const std::string*, bool> known_;
};

/// A script asked for a tensor that a run does not have, or does not have yet.
struct UnknownTensor final : TensorUnavailable {
  UnknownTensor(const std::string& tensor, const Trial& run);
  /// "; did you mean fc1.weight?", of what was saved so far; nothing where no name comes near.
  std::string question() const;

  const Trial* trial;  ///< Lives as long as the rule.
};

/// The tensor of a run; throws UnknownTensor.
Tensor tensor_of(const Trial& trial, std::string_view name);

/// A run as scripts see it: owned by the rule, handed to scripts as a value that refers to it.
struct TrialObject {
  TrialObject(const Trial& of, RuleContext& in, bool is_other_run)
      : trial(of), context(in), is_other(is_other_run) {}
  /// Whether readings of a global step belong to the verdict.
  bool is_judged(std::int64_t step) const noexcept { return is_other || context.is_judged(step); }
  /// What was read of it.
  Reading described(Reading reading) const {
    if (is_other) reading.run = trial.name();
    return reading;
  }

  const Trial& trial;
  RuleContext& context;
  const bool is_other;  ///< Not the one that is judged.
  std::map<std::string, ScriptSelection> selections = {};
  std::size_t known_tensors = 0;  ///< For which there are objects.
};

template <>
struct ObjectType<TrialObject> {
  static constexpr const char* kName = "trial";
};

/// Makes the types of trials and tensors known to a state.
void add_trial_types(lua_State* lua);

/// Pushes a value that refers to `object`, which lives as long as the state.
void push_trial(lua_State* lua, TrialObject& object);

/// Patterns of a script's own; what they are compiled to is added to `held`.
std::vector<TextPattern> compile_patterns(lua_State* lua, const std::vector<std::string>& texts,
                                          Held& held);
/// Those of the names in which any of the patterns is found.
std::vector<std::string> matching_names(lua_State* lua, std::vector<std::string> names,
                                        const std::vector<std::string>& patterns);

/// The selection of a trial by collections and patterns: most scripts use the same ones at every
/// step. It is good until another one is asked for.
ScriptSelection& selection_of(lua_State* lua, TrialObject& trial,
                              std::vector<std::string> collections,
                              const std::vector<std::string>& patterns);

/// Pushes the table of texts that were made of names of a trial.
void push_known_names(lua_State* lua);
/// Pushes a name that lives as long as the trial as a text, which is made once; `known` is the
/// place of that table.
void push_known_name(lua_State* lua, int known, const void* address, std::string_view name);

// Of tensor_object.cc and trial_rows.cc.
void add_tensor_type(lua_State* lua);
/// trial:tensor(name) and trial:each{...}, of Lua's own interface: scripts call them in their inner
/// loops.
int trial_tensor(lua_State* lua);
int trial_each(lua_State* lua);

}  // namespace cupel::scripting_detail
