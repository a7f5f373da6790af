// trial:each{}: the index rows of many tensors at a step, gathered in one visit.
//
// A script that asks tensor by tensor pays for each question three times what its answer costs. The
// iterator hands out names and numbers that were gathered before, so that the loop calls nothing
// but Lua. A tensor without the number is skipped, with the reason that built-in rules give. Rows
// count against the memory of the state.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/tensor_number.h"
#include "cupel/stats/statistics.h"
#include "held.h"
#include "sandbox_functions.h"
#include "trial_object.h"
#include "value_object.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kFirstRows = 16;
constexpr std::size_t kMostReductions = 20;
constexpr std::int64_t kPerRow = 2;
constexpr std::int64_t kChargedTogether = 64;
constexpr std::int64_t kElementsPerInstruction = 16;

struct Row {
  const std::string* tensor;
  std::string_view worker;
  bool is_judged;
};

// What an iterator goes through.
struct Rows {
  ~Rows() { state.release(held); }
  LuaState& state;
  RuleContext& context;
  std::size_t held = 0;
  std::vector<Row> rows = {};
  std::vector<double> numbers = {};  // per row, one for each reduction
  std::size_t width = 0;
  std::size_t next = 0;
  const char* worker = nullptr;  // of the row before
};

// Gathers rows while a step is visited.
class Gatherer {
 public:
  Gatherer(lua_State* lua, TrialObject& trial, std::vector<Reduction> reductions, Rows& rows)
      : lua_(lua), trial_(trial), reductions_(std::move(reductions)), rows_(rows) {
    rows_.width = reductions_.size();
  }

  void take(const RecordView& record) {
    if (++visited_ % kChargedTogether == 0) rows_.state.charge(lua_, kPerRow * kChargedTogether);
    found_.clear();
    for (const Reduction reduction : reductions_) {
      const auto number = number_of(record, reduction);
      if (!number) return;
      found_.push_back(*number);
    }
    if (rows_.rows.size() == rows_.rows.capacity()) grow();
    for (const TensorNumber& number : found_) {
      rows_.numbers.push_back(number.value);
      report_reading(record, number);
    }
    if (reductions_.empty()) trial_.context.read_beside();
    rows_.rows.push_back({&record.tensor(), record.worker(), trial_.is_judged(record.step())});
  }

 private:
  // Room for rows is the script's memory: the new one beside the old one, until rows have moved.
  void grow() {
    const std::size_t capacity = std::max(kFirstRows, 2 * rows_.rows.capacity());
    const std::size_t bytes = capacity * (sizeof(Row) + rows_.width * sizeof(double));
    rows_.state.hold(lua_, bytes);
    const std::size_t before = std::exchange(rows_.held, rows_.held + bytes);
    rows_.rows.reserve(capacity);
    rows_.numbers.reserve(capacity * rows_.width);
    rows_.held = bytes;
    rows_.state.release(before);
  }

  void skip(const RecordView& record, std::string reason, bool damaged = false) {
    if (!damaged && !trial_.is_judged(record.step())) return;
    Skip skip{record.tensor(), std::string(record.worker()), std::move(reason), damaged};
    if (!trial_.is_other) return trial_.context.skip(lua_, std::move(skip));
    skip.reason += ", of " + trial_.trial.name();
    trial_.context.skip_beside(lua_, std::move(skip));
  }

  void report_reading(const RecordView& record, const TensorNumber& number) {
    RuleContext& context = trial_.context;
    if (!trial_.is_judged(record.step())) return context.read_beside();
    if (std::isnan(number.value)) context.verdict().saw_nan();
    context.read_ahead(record.tensor(), record.worker(), [&] {
      return trial_.described({std::string(number.origin_text()), short_text(number.value)});
    });
  }

  // Of its value, if it is there. What takes longer than a pass over it is done in pieces.
  std::optional<double> computed_of(const RecordView& record, Reduction reduction) {
    ReductionSet set;
    set.add(reduction);
    if (beyond_one_pass(set).empty()) return record.computed(reduction);
    std::optional<TensorValue> value = record.value();
    if (!value) return std::nullopt;
    return reduce(lua_, *std::move(value), reduction);
  }

  // What can be had of it; else it is skipped, in the words of the built-in rules.
  std::optional<TensorNumber> number_of(const RecordView& record, Reduction reduction) {
    if (record.dtype() == DType::Utf8 || record.elements() == 0) {
      skip(record, record.dtype() == DType::Utf8 ? "text is no numbers" : "the tensor is empty");
      return std::nullopt;
    }
    if (const auto number = saved_number(record, reduction)) return number;
    if (!record.has_value()) {
      skip(record, none_was_saved(sources_of(reduction)));
      return std::nullopt;
    }
    rows_.state.charge(lua_, record.elements() / kElementsPerInstruction);
    const Held held(lua_,
                    static_cast<std::size_t>(record.elements()) * element_size(record.dtype()));
    TensorNumber number{0, reduction, TensorNumber::Origin::Value};
    try {
      if (const auto computed = computed_of(record, reduction)) {
        number.value = *computed;
        return number;
      }
      // The exception of this query has the reason why there is none.
      number.value = trial_.trial.tensor(record.tensor())
                         .reduction_value(record.step(), to_string(reduction),
                                          {.worker = std::string(record.worker())});
      return number;
    } catch (const TensorUnavailableForStep& error) {
      skip(record, error.what());
    } catch (const DamagedValue& damage) {
      skip(record, damage.what(), true);
    }
    return std::nullopt;
  }

  lua_State* const lua_;
  TrialObject& trial_;
  const std::vector<Reduction> reductions_;
  Rows& rows_;
  std::vector<TensorNumber> found_;  // of one record
  std::int64_t visited_ = 0;
};

// Upvalues: the rows, texts of names, the worker's name of the row before, and a pointer to the
// rows.
int next_row(lua_State* lua) {
  Rows& rows = *static_cast<Rows*>(lua_touserdata(lua, lua_upvalueindex(4)));
  if (rows.next == rows.rows.size()) return 0;
  const std::size_t at = rows.next++;
  const Row& row = rows.rows[at];
  rows.context.set_last_tensor(*row.tensor, row.worker,
                               row.is_judged ? static_cast<std::int64_t>(rows.width) : 0);
  constexpr std::size_t kBeside = 4;
  if (rows.width + kBeside > LUA_MINSTACK)
    luaL_checkstack(lua, static_cast<int>(rows.width + kBeside), nullptr);
  push_known_name(lua, lua_upvalueindex(2), row.tensor, *row.tensor);
  if (rows.worker == row.worker.data()) {
    lua_pushvalue(lua, lua_upvalueindex(3));
  } else {
    rows.worker = row.worker.data();
    push_known_name(lua, lua_upvalueindex(2), rows.worker, row.worker);
    lua_copy(lua, -1, lua_upvalueindex(3));
  }
  const double* const numbers = rows.numbers.data() + at * rows.width;
  for (std::size_t i = 0; i < rows.width; ++i) lua_pushnumber(lua, numbers[i]);
  return static_cast<int>(rows.width) + 2;
}

}  // namespace

int trial_each(lua_State* lua) {
  TrialObject& trial = check_object<TrialObject>(lua, 1);
  const NamedArguments arguments(lua, 2, "each",
                                 {"step", "mode", "collection", "regex", "reductions"});
  const std::int64_t step = arguments.required_integer("step");
  const std::vector<std::string> patterns = arguments.texts("regex");
  std::vector<Reduction> reductions;
  for (const std::string& name : arguments.texts("reductions")) {
    if (reductions.size() == kMostReductions) arguments.fail("reductions", "are more than 20");
    reductions.push_back(require_reduction(name));
  }
  LuaState& state = LuaState::of(lua);
  const auto rows = std::make_shared<Rows>(Rows{state, trial.context});
  Gatherer gatherer(lua, trial, std::move(reductions), *rows);
  selection_of(lua, trial, arguments.texts("collection"), patterns)
      .visit_step(lua, trial.trial, step, arguments.mode(),
                  [&](const RecordView& record) { gatherer.take(record); });
  push_object(lua, rows);
  push_known_names(lua);
  lua_pushnil(lua);
  lua_pushlightuserdata(lua, rows.get());
  push_function<next_row>(lua, 4);
  return 1;
}

}  // namespace cupel::scripting_detail
