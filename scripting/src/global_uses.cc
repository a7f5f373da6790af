// Reads what lua_dump writes of a function: nothing else tells which globals it uses. A global is a
// field of the upvalue _ENV, so there is an instruction for each use of one, with its name among
// the constants and its line beside it.

#include "global_uses.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "held.h"

namespace cupel::scripting_detail {
namespace {

// What lua_dump writes, and the numbers of instructions, are those of Lua 5.4.0 to 5.4.8. Another
// release may have others: compare its ldump.c and lopcodes.h with those of 5.4.4 before this
// changes. What is read is what this process wrote.
static_assert(LUA_VERSION_NUM == 504 && LUA_VERSION_RELEASE_NUM >= 50400 &&
              LUA_VERSION_RELEASE_NUM <= 50408);
constexpr std::size_t kHeader = 4 + 1 + 1 + 6 + 3 + sizeof(lua_Integer) + sizeof(lua_Number);
constexpr unsigned kGetGlobal = 11;  // GETTABUP A B C: R[A] := upvalue[B][constant[C]]
constexpr unsigned kSetGlobal = 15;  // SETTABUP A B C: upvalue[A][constant[B]] := RK(C)
constexpr int kLineIsAbsolute = -0x80;

struct Instruction {
  std::uint32_t code;
  unsigned operation() const noexcept { return code & 0x7fU; }
  unsigned a() const noexcept { return code >> 7U & 0xffU; }
  unsigned b() const noexcept { return code >> 16U & 0xffU; }
  unsigned c() const noexcept { return code >> 24U & 0xffU; }
};

class Dump {
 public:
  explicit Dump(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw std::logic_error("a dump of a function is cut");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  // Seven bits a byte, the last one is marked.
  std::size_t size() {
    std::size_t value = 0;
    for (;;) {
      const auto byte = number<std::uint8_t>();
      value = value << 7U | (byte & 0x7fU);
      if ((byte & 0x80U) != 0) return value;
    }
  }
  std::string_view text() {
    const std::size_t one_more = size();
    return one_more == 0 ? std::string_view() : take(one_more - 1);
  }

 private:
  std::string_view rest_;
};

// One function, with those inside it.
class Function {
 public:
  // `outer` is the function around it; null: there is none.
  Function(Dump& dump, const Function* outer, std::vector<GlobalUse>& uses) {
    dump.text();  // the source
    line_ = static_cast<std::int64_t>(dump.size());
    dump.size();   // the last line
    dump.take(3);  // parameters, whether they vary, size of the stack
    code_.resize(dump.size());
    for (Instruction& instruction : code_) instruction.code = dump.number<std::uint32_t>();
    read_constants(dump);
    read_upvalues(dump, outer);
    for (std::size_t count = dump.size(); count > 0; --count)
      const Function inner(dump, this, uses);
    read_lines(dump);
    find_uses(uses);
  }

 private:
  void read_constants(Dump& dump) {
    constants_.resize(dump.size());
    for (std::string_view& constant : constants_) {
      switch (dump.number<std::uint8_t>()) {
        case 0x03:  // an integer
        case 0x13:  // a number
          dump.take(sizeof(lua_Integer));
          break;
        case 0x04:  // texts, short and long
        case 0x14:
          constant = dump.text();
          break;
        default:  // nil, false, true
          break;
      }
    }
  }

  void read_upvalues(Dump& dump, const Function* outer) {
    is_globals_.resize(dump.size());
    for (std::size_t i = 0; i < is_globals_.size(); ++i) {
      const bool is_local_outside = dump.number<std::uint8_t>() != 0;
      const auto index = dump.number<std::uint8_t>();
      dump.take(1);  // its kind
      is_globals_[i] =
          outer == nullptr ||
          (!is_local_outside && index < outer->is_globals_.size() && outer->is_globals_[index]);
    }
  }

  void read_lines(Dump& dump) {
    const std::string_view steps = dump.take(dump.size());
    std::vector<std::pair<std::size_t, std::int64_t>> absolute(dump.size());
    for (auto& [at, line] : absolute) {
      at = dump.size();
      line = static_cast<std::int64_t>(dump.size());
    }
    for (std::size_t count = dump.size(); count > 0; --count) {  // local variables
      dump.text();
      dump.size();
      dump.size();
    }
    for (std::size_t count = dump.size(); count > 0; --count) dump.text();  // names of upvalues
    auto known = absolute.begin();
    std::int64_t line = line_;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const auto step = static_cast<signed char>(steps[at]);
      if (step == kLineIsAbsolute && known != absolute.end())
        line = (known++)->second;
      else
        line += step;
      lines_.push_back(line);
    }
  }

  void find_uses(std::vector<GlobalUse>& uses) const {
    for (std::size_t at = 0; at < code_.size(); ++at) {
      const Instruction instruction = code_[at];
      const bool is_set = instruction.operation() == kSetGlobal;
      if (!is_set && instruction.operation() != kGetGlobal) continue;
      const unsigned upvalue = is_set ? instruction.a() : instruction.b();
      const unsigned constant = is_set ? instruction.b() : instruction.c();
      if (upvalue >= is_globals_.size() || !is_globals_[upvalue]) continue;
      if (constant >= constants_.size()) continue;
      uses.push_back(
          {std::string(constants_[constant]), {}, at < lines_.size() ? lines_[at] : 0, is_set});
    }
  }

  std::int64_t line_ = 0;
  std::vector<Instruction> code_;
  std::vector<std::string_view> constants_;  // empty where they are no texts
  std::vector<bool> is_globals_;             // by upvalue
  std::vector<std::int64_t> lines_;          // of the instructions
};

struct Dumped {
  std::string bytes;
  std::vector<Held> held;
};

int append(lua_State* lua, const void* bytes, std::size_t size, void* into) {
  auto& dumped = *static_cast<Dumped*>(into);
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  if (dumped.bytes.size() + size > dumped.bytes.capacity()) {
    const std::size_t room = dumped.bytes.capacity() + std::max(size, kPiece);
    dumped.held.emplace_back(lua, 2 * room);
    dumped.bytes.reserve(dumped.bytes.size() + room);
  }
  dumped.bytes.append(static_cast<const char*>(bytes), size);
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(size / 64));
  return 0;
}

}  // namespace

std::vector<GlobalUse> global_uses(lua_State* lua, const std::string& chunk) {
  Dumped dumped;
  lua_dump(lua, append, &dumped, 0);
  Dump dump(dumped.bytes);
  dump.take(kHeader);
  dump.take(1);  // how many upvalues the main function has
  std::vector<GlobalUse> uses;
  const Function main(dump, nullptr, uses);
  for (GlobalUse& use : uses) use.chunk = chunk;
  std::stable_sort(uses.begin(), uses.end(),
                   [](const GlobalUse& a, const GlobalUse& b) { return a.line < b.line; });
  return uses;
}

}  // namespace cupel::scripting_detail
