#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <limits>

#include "scripting/value_fixture.h"

namespace cupel::testing {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr auto kNever = std::chrono::minutes(5);
constexpr std::int64_t kEndless = 1'000'000'000'000;

// Sanitizers take time and memory of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasured = false;
#else
constexpr bool kMeasured = true;
#endif

Milliseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// The most memory that the process has had since forget_peak.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }
std::size_t peak() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::size_t kib = 0;
    status >> kib;
    return kib << 10U;
  }
  return std::numeric_limits<std::size_t>::max();
}

// Elements of one axis that are `bytes` in all, floats between 0.5 and 2 or so.
scripting_detail::Array large(DType dtype, std::size_t bytes) {
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  std::uint64_t bits = 1;
  for (std::size_t i = 0; i < bytes; i += sizeof bits) {
    bits = bits * 6364136223846793005U + 1442695040888963407U;
    std::uint64_t word = bits;
    if (dtype == DType::F32) word = (bits & 0x80ff'ffff'80ff'ffffU) | 0x3f00'0000'3f00'0000U;
    if (dtype == DType::F64) word = (bits & 0x801f'ffff'ffff'ffffU) | 0x3fe0'0000'0000'0000U;
    if (dtype == DType::Bool) word = bits & 0x0101'0101'0101'0101U;
    std::memcpy(buffer->data() + i, &word, sizeof word);
  }
  return {dtype, Shape{static_cast<std::int64_t>(bytes / element_size(dtype))}, buffer};
}

// Values of `bytes`: f of f32, d of f64, u of u8, m a mask; w of f32 in rows of 256, many short
// texts, and a long one.
void give_large(ValueScript& script, std::size_t bytes) {
  const scripting_detail::Array floats = large(DType::F32, bytes);
  script.give("f", floats);
  script.give("w", floats.reshaped({floats.elements() / 256, 256}));
  script.give("d", large(DType::F64, bytes));
  script.give("u", large(DType::U8, bytes));
  script.give("m", large(DType::Bool, bytes));
  script.give("n", large(DType::Bool, bytes / 4));
  const std::size_t texts = bytes / 16;
  script.give("texts", texts_of(std::vector<std::string>(texts, "12345678"), {texts}));
  const std::string text(bytes, 'x');
  script.give("long", texts_of({text, text}, {2}));
  script.give("other", texts_of({text, text}, {2}));
}

// Whose work is more than a millisecond of all those elements, and 100,000 instructions of 4 MiB.
constexpr const char* kOperations[] = {
    "f + 1",
    "1 - u",
    "u % 0.3",
    "f // 3",
    "f ^ 1.5",
    "f ^ 2",
    "-f",
    "u:sqrt()",
    "f:exp()",
    "f:log()",
    "f:sign()",
    "f:floor()",
    "f:abs() + 1",
    "f:abs():slice(1, 1, -1, 2) * 1",
    "f:minimum(u:slice(1, 1, #f))",
    "f:clip(0, 1)",
    "u:lt(0)",
    "f:eq(f)",
    "u:isnan()",
    "f:isfinite()",
    "f:isclose(1)",
    "u:allclose(u)",
    "w:reshape(1, -1):allclose(w:reshape(-1, 1), {atol = 1e300})",
    "w:reshape(-1, 1) + cupel.zeros{1, 2}",
    "w + w[1]",
    "m:reshape(-1, 64) & m:slice(1, 1, 64)",
    "m | m",
    "~m",
    "u == u:slice()",
    "d == d:slice()",
    "texts == texts:slice()",
    "texts:eq('12345678')",
    "texts:ne(texts)",
    "u:sum()",
    "m:mean()",
    "u:median()",
    "d:median()",
    "u:prod()",
    "u:quantile(0.3)",
    "d:quantile(0.3)",
    "f:norm(3)",
    "f:histogram{bins = 10000}",
    "u:histogram{range = {-1.7e308, 1.7e308}}",
    "u:argmax()",
    "f:argmin()",
    "u:count_nonzero()",
    "u:counts()",
    "u:any()",
    "f:dot(f)",
    "u:cosine_similarity(u)",
    "f:where(n)",
    "u:where(m)",
    "texts:where(n:slice(1, 1, #texts))",
    "u:where(~(u:gt(-1)))",
    "w:sum{axis = 1}",
    "w:sum{axis = 2}",
    "w:reshape(-1, 2):sum{axis = 2}",
    "w:reshape(2, -1):sum{axis = 1}",
    "w:reshape(-1, 1):median{axis = 2}",
    "w:median{axis = 1}",
    "w:prod{axis = 2}",
    "w:quantile(0.5, {axis = 1})",
    "w:norm(3, {axis = 2})",
    "w:argmax{axis = 1}",
    "w:any{axis = 1}",
    "w:slice(2, 1, -1, 2)",
    "w:slice(2, 1, 255)",
    "u:slice(1, 1, -1, 2)",
    "texts:slice(1, 1, -1, 2)",
    "m:indices(1000000)",
    "m:indices(0)",
    "u:slice(1, 1, 1000000):to_table(1000000)",
    "texts:slice(1, 1, 250000):to_table(1000000)",
    "cupel.zeros{1000000, 0}:to_table(1000000)",
    "cupel.zeros{8000000}",
    "cupel.zeros{1 << 20, 0}:sum{axis = 2}",
    "cupel.value(1, {shape = {64000000}, dtype = 'u8'})",
};

TEST(ValueLimits, every_operation_on_64_MiB_stops_at_the_clock) {
  constexpr auto kLimit = std::chrono::milliseconds(1);
  ValueScript script({.instructions = kEndless, .memory = 4096 * kMiB, .time = kLimit});
  give_large(script, 64 * kMiB);
  for (const std::string operation : kOperations) {
    const Milliseconds begin = cpu_time();
    const ScriptError error = script.error("local x = (" + operation + ")");
    const Milliseconds taken = cpu_time() - begin;
    EXPECT_EQ(error.limit, ScriptLimit::Clock) << operation << ": " << error.what();
    if (kMeasured) {
      EXPECT_LT(taken, Milliseconds(kLimit) + Milliseconds(50)) << operation;
    }
    lua_gc(script.state.get(), LUA_GCCOLLECT);
  }
}

TEST(ValueLimits, texts_of_64_MiB_are_compared_and_copied_until_the_clock_stops_it) {
  constexpr auto kLimit = std::chrono::milliseconds(1);
  ValueScript script({.instructions = kEndless, .memory = 4096 * kMiB, .time = kLimit});
  give_large(script, 64 * kMiB);
  for (const std::string operation :
       {"long == other", "long:eq(other)", "long:slice(1, 1, 2, 1) == other",
        "long:where(cupel.value{true, false}):eq('x')"}) {
    const Milliseconds begin = cpu_time();
    const ScriptError error = script.error("return (" + operation + ")");
    const Milliseconds taken = cpu_time() - begin;
    if (kMeasured) {
      EXPECT_LT(taken, Milliseconds(kLimit) + Milliseconds(50)) << operation;
    }
    EXPECT_NE(error.limit, ScriptLimit::None) << operation << error.what();
    lua_gc(script.state.get(), LUA_GCCOLLECT);
  }
}

TEST(ValueLimits, the_work_of_every_operation_counts_as_instructions) {
  ValueScript script({.instructions = 60'000, .memory = 4096 * kMiB, .time = kNever});
  give_large(script, 4 * kMiB);
  for (const std::string operation : kOperations)
    EXPECT_EQ(script.error("local x = (" + operation + ")").limit, ScriptLimit::Instructions)
        << operation;
}

TEST(ValueLimits, small_operations_count_as_well) {
  ValueScript script({.instructions = 100'000, .memory = 64 * kMiB, .time = kNever});
  script.give("v", array_of<float>({1, 2, 3}));
  // Each round is some four instructions of Lua's.
  for (const std::string operation :
       {"v:reshape(3)", "v:sum{axis = 1}", "v:mean{}", "v:slice(1)", "v:abs()", "v:gt(1)"})
    EXPECT_EQ(script.error("for i = 1, 5000 do local x = " + operation + " end").limit,
              ScriptLimit::Instructions)
        << operation;
}

// --- Memory

constexpr ScriptLimits kNarrow{.instructions = kEndless, .memory = 8 * kMiB, .time = kNever};

TEST(ValueLimits, a_result_that_does_not_fit_is_refused_before_it_is_there) {
  ValueScript script(kNarrow);
  script.give("f", large(DType::F32, 4 * kMiB));
  script.give("column", large(DType::F32, kMiB).reshaped({1 << 18, 1}));
  script.give("row", large(DType::F32, kMiB));
  script.give("texts",
              texts_of(std::vector<std::string>(10'000, std::string(1000, 'x')), {10'000}));
  for (const std::string operation :
       {"f + 1", "f:reshape(-1, 1) + cupel.zeros{1, 2}", "column:lt(row)", "column * row",
        "cupel.zeros{1 << 20}", "cupel.zeros{1 << 35}", "cupel.value(1, {shape = {1 << 39}})",
        "cupel.value(true, {shape = {1 << 23}})", "cupel.zeros{1 << 39, 0}:sum{axis = 2}",
        "texts:slice(1, 1, -1, 1):where(texts:eq(texts))", "texts:to_table()",
        "f:slice(1, 1, 600000):to_table(1000000)", "f:eq(f):indices(1000000)"}) {
    const ScriptError error = script.error("local x = (" + operation + ")");
    EXPECT_EQ(error.limit, ScriptLimit::Memory) << operation << ": " << error.what();
    EXPECT_LE(script.state.memory_in_use(), kNarrow.memory) << operation;
  }
}

TEST(ValueLimits, a_text_that_is_put_in_often_is_paid_for_as_often) {
  const ScriptError error = ValueScript(kNarrow).error(
      "local texts, text = {}, ('x'):rep(1000) for i = 1, 10000 do texts[i] = text end "
      "local x = cupel.value(texts)");
  EXPECT_EQ(error.limit, ScriptLimit::Memory) << error.what();
}

TEST(ValueLimits, temporaries_are_released_when_memory_is_needed) {
  ValueScript script(kNarrow);
  script.give("f", large(DType::F32, kMiB));
  EXPECT_EQ(script.run("for i = 1, 300 do local x = (f + i):abs() * 2 end return 'done'"), "done");
  EXPECT_EQ(script.run("for i = 1, 1000 do local x = f:eq(i):indices(1) end return 'done'"),
            "done");
}

TEST(ValueLimits, what_is_garbage_no_longer_counts) {
  ValueScript script(kNarrow);
  lua_gc(script.state.get(), LUA_GCCOLLECT);
  const std::size_t before = script.state.memory_in_use();
  script.run("kept = cupel.zeros{500000}");
  EXPECT_GE(script.state.memory_in_use(), before + 4'000'000);
  script.run("kept = kept:slice(1, 1, 10)");
  lua_gc(script.state.get(), LUA_GCCOLLECT);
  EXPECT_GE(script.state.memory_in_use(), before + 4'000'000) << "the slice has its bytes";
  script.run("kept = nil");
  lua_gc(script.state.get(), LUA_GCCOLLECT);
  EXPECT_LT(script.state.memory_in_use(), before + 10'000);
}

TEST(ValueLimits, parts_and_shapes_of_a_value_count_its_bytes_once) {
  ValueScript script(kNarrow);
  EXPECT_EQ(script.run("local v, t = cupel.zeros{1000, 700}, {} for i = 1, 300 do "
                       "t[i] = {v[i], v:slice(1, i), v:reshape(700, 1000), v:flatten()} end "
                       "return #t"),
            "300");
}

TEST(ValueLimits, a_tensors_bytes_count_until_it_is_garbage) {
  ValueScript script(kNarrow);
  const std::size_t before = script.state.memory_in_use();
  const auto bytes = std::make_shared<const AlignedBuffer>(5 * kMiB);
  script.give("v", TensorValue(DType::U8, {5 * kMiB}, bytes, "file", 0));
  EXPECT_GE(script.state.memory_in_use(), before + 5 * kMiB);
  EXPECT_EQ(script.error("local x = cupel.zeros{500000}").limit, ScriptLimit::Memory);
  EXPECT_EQ(script.run("v = nil return #cupel.zeros{500000}"), "500000");
}

TEST(ValueLimits, what_is_kept_takes_no_more_of_the_process_than_the_limit) {
  if (!kMeasured) GTEST_SKIP() << "a sanitizer takes memory of its own";
  constexpr std::size_t kMemory = 128 * kMiB;
  for (const std::string make :
       {"f + i", "f:gt(i)", "cupel.value(i)", "cupel.zeros{100}", "f:slice(1, i % 100 + 1)",
        "f:reshape(1, -1)", "cupel.value{'text', 'another'}", "v:histogram{bins = 100}",
        "v:sum{axis = 1, keepdims = true}", "f:abs()", "f.shape"}) {
    ValueScript script({.instructions = kEndless, .memory = kMemory, .time = kNever});
    script.give("f", large(DType::F32, kMiB));
    script.give("v", array_of<float>({1, 2, 3}));
    forget_peak();
    const std::size_t before = peak();
    const ScriptError error =
        script.error("local t = {} for i = 1, 1e9 do t[i] = " + make + " end");
    EXPECT_EQ(error.limit, ScriptLimit::Memory) << make << ": " << error.what();
    EXPECT_LT(peak(), before + kMemory + kMemory / 20) << make;
  }
}

TEST(ValueLimits, what_an_operation_needs_meanwhile_is_within_the_limit) {
  if (!kMeasured) GTEST_SKIP() << "a sanitizer takes memory of its own";
  constexpr std::size_t kMemory = 128 * kMiB;
  ValueScript script({.instructions = kEndless, .memory = kMemory, .time = kNever});
  script.give("f", large(DType::F32, 16 * kMiB));
  script.give("w", large(DType::F32, 16 * kMiB).reshaped({1 << 14, 256}));
  for (const std::string operation :
       {"f:median()", "f:slice(1, 1, 1 << 20):median()", "f:quantile(0.1)", "w:median{axis = 1}",
        "w:sum{axis = 1}", "f:histogram{bins = 10000}", "f:norm(3)", "f:prod()"}) {
    forget_peak();
    const std::size_t before = peak();
    EXPECT_EQ(script.run("local x = " + operation + " return 'done'"), "done") << operation;
    EXPECT_LT(peak(), before + 3 * kMiB) << operation;
  }
}

}  // namespace
}  // namespace cupel::testing
