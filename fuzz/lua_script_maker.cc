#include "lua_script_maker.h"

#include <array>
#include <string_view>

namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 10> kVariables = {
    "self", "trial", "step", "tensor", "value", "other", "a", "b", "c", "req"};
constexpr std::array<std::string_view, 26> kNumbers = {"0",
                                                       "1",
                                                       "2",
                                                       "-1",
                                                       "3",
                                                       "5",
                                                       "16",
                                                       "64",
                                                       "100",
                                                       "1000",
                                                       "0.5",
                                                       "-0.0",
                                                       "1e-9",
                                                       "1e308",
                                                       "1e16",
                                                       "0/0",
                                                       "1/0",
                                                       "-1/0",
                                                       "1<<31",
                                                       "1<<32",
                                                       "1<<53",
                                                       "1<<62",
                                                       "math.mininteger",
                                                       "math.maxinteger",
                                                       "2^53",
                                                       "4097"};
constexpr std::array<std::string_view, 34> kTexts = {"''",
                                                     "'a'",
                                                     "'loss'",
                                                     "'large'",
                                                     "'words'",
                                                     "'strange'",
                                                     "'empty'",
                                                     "'none'",
                                                     "'gradients'",
                                                     "'gradient/fc1.weight'",
                                                     "'TRAIN'",
                                                     "'mean'",
                                                     "'abs_max'",
                                                     "'median'",
                                                     "'worker_0'",
                                                     "'[a-z]+'",
                                                     "'(a+)+$'",
                                                     "'\\\\d(?<n>x)?'",
                                                     "'%d %s %q'",
                                                     "'%99.99f'",
                                                     "'$1${n}$0'",
                                                     "'\\0\\255'",
                                                     "'helper'",
                                                     "'../x'",
                                                     "'f32'",
                                                     "'i64'",
                                                     "'bool'",
                                                     "'utf8'",
                                                     "'x'",
                                                     "('x'):rep(1000)",
                                                     "('ab'):rep(30000)",
                                                     "'#'",
                                                     "'n'",
                                                     "'1'"};
constexpr std::array<std::string_view, 16> kTrialMethods = {"name",        "tensor_names",
                                                            "tensor",      "has_tensor",
                                                            "steps",       "modes",
                                                            "mode",        "mode_step",
                                                            "global_step", "last_complete_step",
                                                            "workers",     "missing_workers",
                                                            "collection",  "collections",
                                                            "each",        "each"};
constexpr std::array<std::string_view, 12> kTensorMethods = {
    "name",   "value", "reduction_value", "reduction_values", "shape", "counts",
    "record", "steps", "prev_steps",      "workers",          "value", "value"};
constexpr std::array<std::string_view, 50> kValueMethods = {"abs",
                                                            "sqrt",
                                                            "exp",
                                                            "log",
                                                            "sign",
                                                            "floor",
                                                            "minimum",
                                                            "maximum",
                                                            "clip",
                                                            "lt",
                                                            "le",
                                                            "gt",
                                                            "ge",
                                                            "eq",
                                                            "ne",
                                                            "isnan",
                                                            "isinf",
                                                            "isfinite",
                                                            "isclose",
                                                            "allclose",
                                                            "at",
                                                            "item",
                                                            "slice",
                                                            "reshape",
                                                            "flatten",
                                                            "where",
                                                            "indices",
                                                            "to_table",
                                                            "mean",
                                                            "sum",
                                                            "min",
                                                            "max",
                                                            "median",
                                                            "std",
                                                            "variance",
                                                            "prod",
                                                            "abs_mean",
                                                            "reduction",
                                                            "any",
                                                            "all",
                                                            "count_nonzero",
                                                            "counts",
                                                            "argmax",
                                                            "argmin",
                                                            "quantile",
                                                            "norm",
                                                            "histogram",
                                                            "dot",
                                                            "cosine_similarity",
                                                            "slice"};
constexpr std::array<std::string_view, 9> kSelfMethods = {
    "issue",    "skip",    "explain",       "not_applicable", "ask_again",
    "end_rule", "saw_nan", "is_explaining", "issue"};
constexpr std::array<std::string_view, 56> kFunctions = {"string.byte",
                                                         "string.char",
                                                         "string.find",
                                                         "string.format",
                                                         "string.gmatch",
                                                         "string.gsub",
                                                         "string.len",
                                                         "string.lower",
                                                         "string.match",
                                                         "string.rep",
                                                         "string.reverse",
                                                         "string.sub",
                                                         "string.upper",
                                                         "table.concat",
                                                         "table.insert",
                                                         "table.move",
                                                         "table.pack",
                                                         "table.remove",
                                                         "table.sort",
                                                         "table.unpack",
                                                         "utf8.char",
                                                         "utf8.codepoint",
                                                         "utf8.codes",
                                                         "utf8.len",
                                                         "utf8.offset",
                                                         "math.floor",
                                                         "math.random",
                                                         "math.tointeger",
                                                         "math.fmod",
                                                         "math.max",
                                                         "math.type",
                                                         "math.ult",
                                                         "coroutine.wrap",
                                                         "coroutine.create",
                                                         "coroutine.resume",
                                                         "coroutine.yield",
                                                         "coroutine.status",
                                                         "coroutine.running",
                                                         "pcall",
                                                         "xpcall",
                                                         "error",
                                                         "assert",
                                                         "select",
                                                         "next",
                                                         "pairs",
                                                         "ipairs",
                                                         "tostring",
                                                         "tonumber",
                                                         "type",
                                                         "rawequal",
                                                         "rawlen",
                                                         "print",
                                                         "require",
                                                         "cupel.value",
                                                         "cupel.zeros",
                                                         "cupel.comparison"};
constexpr std::array<std::string_view, 22> kOperators = {
    "+",  "-", "*",  "/", "//", "%", "^",  "..", "==",  "~=", "<",
    "<=", ">", ">=", "&", "|",  "~", "<<", ">>", "and", "or", ".."};
constexpr std::array<std::string_view, 30> kKeys = {
    "tensor", "worker",     "value",      "threshold", "message",   "reason", "step",     "mode",
    "regex",  "collection", "reductions", "abs",       "shape",     "dtype",  "bins",     "min",
    "max",    "rtol",       "atol",       "axis",      "trial",     "read",   "compared", "saved",
    "p",      "keep",       "range",      "x",         "equal_nan", "name"};

class Maker {
 public:
  explicit Maker(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::string file() {
    text_ = "local a, b, c, req = 1, 'b', {1, 2, 3}\n";
    if (chance(4)) statements(2);
    text_ += "return cupel.rule{name = 'Made'";
    if (chance(3)) parameters();
    if (chance(3)) needs();
    function("invoke_at_step", "self, trial, step");
    if (chance(3)) function("required", "self, step, req");
    if (chance(3)) function("on_tick", "self, now");
    if (chance(3)) function("on_end", "self");
    return text_ + "}\n";
  }

 private:
  std::size_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }
  bool has_more() const { return at_ < bytes_.size(); }
  bool chance(std::size_t one_in) { return byte() % one_in == 1; }
  void one_of(Names names) { text_ += names[byte() % names.size()]; }

  void parameters() {
    text_ += ", params = {p = ";
    expression(2);
    text_ += ", q = {default = ";
    expression(1);
    text_ += ", at_least = ";
    expression(1);
    text_ += "}}";
  }

  void needs() {
    text_ += ", needs = ";
    if (chance(2)) {
      text_ += "function(params) return ";
      table(2);
      text_ += " end";
    } else {
      text_ += "{collections = 'gradients', reductions = {";
      expression(0);
      text_ += "}, raw = ";
      expression(0);
      text_ += "}";
    }
  }

  void function(std::string_view name, std::string_view parameters) {
    text_ += ",\n";
    text_ += name;
    text_ += " = function(";
    text_ += parameters;
    text_ +=
        ")\nlocal trial = self.trial local step = math.type(step) and step or 0\n"
        "local tensor = trial:tensor('large') local value = tensor:value(0)\n"
        "local other = self.other or cupel.value({1, 2, 0 / 0, 4}, {shape = {2, 2}})\n";
    statements(6);
    text_ += "end";
  }

  void statements(int most) {
    for (int i = 0; i < most && has_more(); ++i) {
      text_ += "pcall(function() ";
      statement(3);
      text_ += " end)\n";
    }
  }

  void block(int depth) {
    statement(depth - 1);
    if (chance(2)) {
      text_ += " ";
      statement(depth - 1);
    }
  }

  void statement(int depth) {
    switch (depth <= 0 ? byte() % 3 : byte() % 10) {
      case 0:
        one_of(std::span(kVariables).subspan(3, 6));
        text_ += " = ";
        expression(3);
        break;
      case 1:
        text_ += "self.";
        one_of(kKeys);
        text_ += " = ";
        expression(3);
        break;
      case 2:
        text_ += "local _ = ";
        expression(4);
        break;
      case 3:
        text_ += "if ";
        expression(2);
        text_ += " then ";
        block(depth);
        text_ += " else ";
        block(depth);
        text_ += " end";
        break;
      case 4:
        text_ += "for i = ";
        expression(0);
        text_ += ", ";
        expression(0);
        text_ += " do ";
        block(depth);
        text_ += " end";
        break;
      case 5:
        text_ += "for k, v in ";
        call(2);
        text_ += " do a, b = k, v ";
        block(depth);
        text_ += " end";
        break;
      case 6:
        text_ += "while ";
        expression(1);
        text_ += " do ";
        block(depth);
        text_ += chance(8) ? " end" : " break end";
        break;
      case 7:
        text_ += "local ok, what = pcall(function() ";
        block(depth);
        text_ += " end) a = what";
        break;
      case 8:
        text_ += "self:";
        one_of(kSelfMethods);
        arguments(2);
        break;
      default:
        text_ += "table.insert(c, ";
        expression(3);
        text_ += ")";
    }
  }

  void expression(int depth) {
    switch (depth <= 0 ? byte() % 3 : byte() % 12) {
      case 0:
        one_of(kNumbers);
        break;
      case 1:
        one_of(kTexts);
        break;
      case 2:
        one_of(kVariables);
        break;
      case 3:
        table(depth);
        break;
      case 4:
        text_ += "(";
        expression(depth - 1);
        text_ += " ";
        one_of(kOperators);
        text_ += " ";
        expression(depth - 1);
        text_ += ")";
        break;
      case 5: {
        constexpr std::array<std::string_view, 4> kUnary = {"-", "#", "~", "not "};
        one_of(kUnary);
        text_ += "(";
        expression(depth - 1);
        text_ += ")";
        break;
      }
      case 6:
        text_ += "(";
        expression(depth - 1);
        text_ += ")[";
        expression(depth - 1);
        text_ += "]";
        break;
      case 7:
        text_ += "function(...) ";
        statement(depth - 1);
        text_ += " return ";
        expression(depth - 1);
        text_ += " end";
        break;
      default:
        call(depth);
    }
  }

  void call(int depth) {
    switch (byte() % 6) {
      case 0:
        text_ += "trial:";
        one_of(kTrialMethods);
        break;
      case 1:
        text_ += "tensor:";
        one_of(kTensorMethods);
        break;
      case 2:
      case 3:
        text_ += chance(2) ? "value:" : "other:";
        one_of(kValueMethods);
        break;
      default:
        one_of(kFunctions);
    }
    arguments(depth);
  }

  void arguments(int depth) {
    text_ += "(";
    const std::size_t count = byte() % 5;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text_ += ", ";
      expression(depth - 1);
    }
    text_ += ")";
  }

  void table(int depth) {
    text_ += "{";
    const std::size_t count = byte() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      if (chance(2)) {
        one_of(kKeys);
        text_ += " = ";
      }
      expression(depth - 1);
      text_ += ", ";
    }
    text_ += "}";
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string make_lua_script(std::span<const std::uint8_t> bytes) { return Maker(bytes).file(); }
