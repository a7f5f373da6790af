// The rooms: who may include whom, and which libraries each may see. docs/architecture.md shows the
// same tables to people; a test compares the two.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using Names = std::set<std::string, std::less<>>;

const fs::path checkout = CUPEL_SOURCE_DIR;

struct Room {
  Names rooms;      // whose public headers it may include, beside its own
  Names libraries;  // that its sources may include; public headers include none
};

const std::map<std::string, Room, std::less<>>& rooms() {
  static const std::map<std::string, Room, std::less<>> table = {
      {"core", {{}, {"nlohmann", "pcre2", "spdlog"}}},
      {"stats", {{"core"}, {"hwy"}}},
      {"format", {{"core"}, {"arrow", "nlohmann"}}},
      {"store", {{"core"}, {}}},
      {"s3", {{"core", "store"}, {"aws"}}},
      {"delivery", {{"core", "format", "store"}, {"nlohmann"}}},
      {"writer", {{"core", "stats", "format", "store", "delivery"}, {"nlohmann"}}},
      {"libtorch", {{"core", "writer"}, {"torch"}}},
      {"xgboost", {{"core", "writer"}, {"nlohmann", "xgboost"}}},
      {"trial", {{"core", "stats", "format", "store"}, {}}},
      {"rules", {{"core", "trial"}, {"curl", "nlohmann"}}},
      {"scripting", {{"core", "stats", "store", "trial", "rules"}, {"lua", "sol"}}},
      {"command",
       {{"core", "store", "delivery", "writer", "trial", "rules", "scripting"},
        {"CLI", "nlohmann"}}},
      {"python",
       {{"core", "stats", "format", "store", "s3", "delivery", "writer", "trial", "rules",
         "scripting", "command"},
        {"nanobind", "nlohmann"}}},
  };
  return table;
}

// Programs may include any public header, these libraries, and nobody's private headers.
const std::map<std::string, Names, std::less<>>& programs() {
  static const std::map<std::string, Names, std::less<>> table = {
      {"cli", {"CLI"}},         {"examples", {}}, {"tests", {"gtest", "gmock", "nlohmann"}},
      {"bench", {"benchmark"}}, {"fuzz", {}},
  };
  return table;
}

// A program's sources that train with a framework: their paths begin so, and they include it.
const std::map<std::string, std::string, std::less<>>& trainers() {
  static const std::map<std::string, std::string, std::less<>> table = {
      {"tests/libtorch/", "torch"},
      {"tests/xgboost/", "xgboost"},
      {"tests/docs/libtorch_", "torch"},
      {"tests/install/frameworks/libtorch_", "torch"},
      {"tests/install/frameworks/xgboost_", "xgboost"},
      {"examples/libtorch_", "torch"},
      {"examples/xgboost_", "xgboost"},
      {"bench/libtorch_", "torch"},
      {"bench/xgboost_", "xgboost"},
  };
  return table;
}

// Which library an include belongs to; nothing for the standard's, the system's and ours.
std::optional<std::string> library_of(std::string_view included) {
  static const Names known = {"arrow",     "parquet", "nlohmann", "spdlog", "fmt",     "hwy",
                              "pcre2",     "curl",    "sol",      "aws",    "CLI",     "lua",
                              "benchmark", "gtest",   "gmock",    "torch",  "xgboost", "nanobind"};
  const std::string_view front = included.substr(0, included.find_first_of("/."));
  if (front == "ATen" || front == "c10" || front == "caffe2") return "torch";
  if (included == "Python.h") return "nanobind";
  for (const std::string& name : known)
    if (front == name) return name;
  return std::nullopt;
}

// Tests that must reach behind a public header, and why.
const Names& exceptions() {
  static const Names table = {
      // The table fall-back of the CRC is not reachable on a machine that has the instruction.
      "tests/core/crc32c_test.cc includes ../../core/src/crc32c_internal.h",
      // Bit-identical on every SIMD target: the test chooses the target.
      "tests/stats/simd_targets.h includes hwy/highway.h",
      // Retries, kills and full queues take milliseconds here; the runner's delays are for people.
      "tests/rules/action_queue_fixture.h includes ../../rules/src/action_queue.h",
      // What a runner forgets when it has told of it is forgotten by the test.
      "tests/rules/action_claims_test.cc includes ../../rules/src/claims.h",
      // The second that has come is the test's; the runner asks the clock.
      "tests/rules/schedule_test.cc includes ../../rules/src/schedule.h",
      "tests/rules/stop_signal_test.cc includes ../../rules/src/stop_signal.h",
      // Limits and sandbox are attacked without a trial, and what is in reach is listed.
      "tests/scripting/script_fixture.h includes ../../scripting/src/lua_state.h",
      "tests/scripting/script_fixture.h includes ../../scripting/src/sandbox.h",
      // Operations on arrays are compared with plain loops, to the bit, and what they ask of their
      // budget is counted.
      "tests/scripting/array_fixture.h includes ../../scripting/src/array.h",
      "tests/scripting/array_fixture.h includes ../../scripting/src/array_arithmetic.h",
      "tests/scripting/array_fixture.h includes ../../scripting/src/array_axis.h",
      "tests/scripting/array_fixture.h includes ../../scripting/src/array_reductions.h",
      "tests/scripting/array_fixture.h includes ../../scripting/src/array_text.h",
      // Values are handed to scripts without a trial, and theirs are looked at.
      "tests/scripting/value_fixture.h includes ../../scripting/src/value_binding.h",
      "tests/scripting/value_fixture.h includes ../../scripting/src/value_object.h",
      "tests/scripting/script_attacks.cc includes ../../scripting/src/value_object.h",
      "tests/scripting/source_check_test.cc includes ../../scripting/src/source_check.h",
      "tests/scripting/field_lines_test.cc includes ../../scripting/src/field_lines.h",
      "tests/scripting/source_tokens_test.cc includes ../../scripting/src/source_tokens.h",
      // The table of operators is compared with those that the listener knows.
      "tests/docs/libtorch_operators_test.cc includes ../../libtorch/src/operator_table.h",
      // The reference of rules in Lua is compared with the methods that there are.
      "tests/docs/lua_reference_test.cc includes ../../scripting/src/rule_requirements.h",
      "tests/docs/lua_reference_test.cc includes ../../scripting/src/rule_script.h",
      "tests/docs/lua_reference_test.cc includes ../../scripting/src/rule_source.h",
      "tests/docs/lua_reference_test.cc includes ../../scripting/src/trial_object.h",
      "tests/docs/lua_reference_test.cc includes ../../scripting/src/value_object.h",
      // Where a run goes on, who a worker is, what is noted beside checkpoints, and what a budget
      // allows are tables of private functions; metrics are compared with what the SDK reads. A
      // save that meets a gate just shut is tested at the gate.
      "tests/writer/checkpoint_metadata_test.cc includes ../../writer/src/checkpoint_metadata.h",
      "tests/delivery/close_on_full_disk_test.cc includes ../../writer/src/resume_point.h",
      "tests/writer/environment_test.cc includes ../../writer/src/environment.h",
      "tests/writer/metric_log_test.cc includes ../../writer/src/metric_log.h",
      "tests/writer/overhead_governor_test.cc includes ../../writer/src/overhead_governor.h",
      "tests/writer/misuse_test.cc includes ../../writer/src/call_gate.h",
      "tests/writer/resume_point_test.cc includes ../../writer/src/resume_point.h",
      // The words for each level of saving are compared with the texts that the hook writes.
      "tests/cli/note_words_test.cc includes ../../writer/src/overhead_governor.h",
      // The ledger of missed steps is tested by tables, without threads.
      "tests/writer/run_ledger_test.cc includes ../../writer/src/run_ledger.h",
      // An index source that is written in the test shows what a further format of runs has to do.
      "tests/trial/memory_index.h includes ../../trial/src/index_builder.h",
      "tests/trial/memory_index.h includes ../../trial/src/index_source.h",
      "tests/trial/memory_index.h includes ../../trial/src/trial_view.h",
      // Messages of XGBoost in all forms, most of which it gives at mistakes of its own.
      "tests/xgboost/reason_test.cc includes ../../xgboost/src/library_calls.h",
      // A layer out of bounds is asked for, which the watch never does.
      "tests/xgboost/bad_input_test.cc includes ../../xgboost/src/library_calls.h",
      // Texts that XGBoost never writes are read in linear time.
      "tests/xgboost/evaluation_text_test.cc includes ../../xgboost/src/evaluation_text.h",
      // What operators are taken for is tested with plain tensors, without a hook; the table of
      // operators has a case for each row.
      "tests/libtorch/operator_recorder.h includes ../../libtorch/src/operator_capture.h",
      "tests/libtorch/operator_rows_test.cc includes ../../libtorch/src/operator_table.h",
      // The uploader is tested over a store in memory, without a spool.
      "tests/delivery/uploader_test.cc includes ../../delivery/src/uploader.h",
      // What the store makes of configuration, answers and ranges is tables of private functions.
      "tests/s3/configuration_test.cc includes ../../s3/src/configuration.h",
      "tests/s3/configuration_test.cc includes ../../s3/src/crt_profile.h",
      "tests/s3/failure_test.cc includes ../../s3/src/failure.h",
      "tests/s3/replies_test.cc includes ../../s3/src/identity.h",
      "tests/s3/replies_test.cc includes ../../s3/src/replies.h",
      "tests/s3/replies_test.cc includes ../../s3/src/xml.h",
      "tests/s3/range_plan_test.cc includes ../../s3/src/range_plan.h",
      "tests/s3/url_test.cc includes ../../s3/src/proxy.h",
      "tests/s3/url_test.cc includes ../../s3/src/url.h",
      // What a server says is read by private functions.
      "fuzz/s3_fuzz.cc includes ../s3/src/identity.h",
      "fuzz/s3_fuzz.cc includes ../s3/src/replies.h",
      "fuzz/s3_fuzz.cc includes ../s3/src/url.h",
      // What the store in S3 is measured against.
      "bench/bare_s3_client.cc includes aws/auth/credentials.h",
      "bench/bare_s3_client.cc includes aws/common/uri.h",
      "bench/bare_s3_client.cc includes aws/http/request_response.h",
      "bench/bare_s3_client.cc includes aws/io/channel_bootstrap.h",
      "bench/bare_s3_client.cc includes aws/io/event_loop.h",
      "bench/bare_s3_client.cc includes aws/io/host_resolver.h",
      "bench/bare_s3_client.cc includes aws/io/stream.h",
      "bench/bare_s3_client.cc includes aws/s3/s3_client.h",
  };
  return table;
}

struct Include {
  std::string text;
  bool angled = false;
  std::size_t line = 0;
};

std::vector<Include> includes_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<Include> includes;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto hash = line.find_first_not_of(' ');
    if (hash == std::string::npos || line[hash] != '#') continue;
    const auto word = line.find_first_not_of(' ', hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const auto open = line.find_first_of("<\"", word + 7);
    if (open == std::string::npos) continue;
    const auto close = line.find_first_of(">\"", open + 1);
    includes.push_back({line.substr(open + 1, close - open - 1), line[open] == '<', number});
  }
  return includes;
}

bool is_cpp(const fs::path& file) { return file.extension() == ".h" || file.extension() == ".cc"; }

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool trains_with(const fs::path& file, std::string_view library) {
  const std::string path = fs::relative(file, checkout).string();
  return std::ranges::any_of(trainers(), [&](const auto& trainer) {
    return path.starts_with(trainer.first) && library == trainer.second;
  });
}

bool is_exception(const fs::path& file, const Include& include) {
  return exceptions().contains(fs::relative(file, checkout).string() + " includes " + include.text);
}

std::string place(const fs::path& file, const Include& include) {
  return fs::relative(file, checkout).string() + ":" + std::to_string(include.line) + " includes " +
         include.text;
}

// Whose public header it is: "core" for cupel/core/error.h, "" for cupel/cupel.h.
std::optional<std::string> room_of(std::string_view included) {
  if (!included.starts_with("cupel/")) return std::nullopt;
  included.remove_prefix(6);
  const auto slash = included.find('/');
  return slash == std::string_view::npos ? "" : std::string(included.substr(0, slash));
}

TEST(Structure, a_room_includes_only_the_rooms_and_libraries_that_it_may) {
  std::vector<std::string> offences;
  for (const auto& [name, room] : rooms()) {
    const auto files = files_below(checkout / name);
    ASSERT_THAT(files, Not(IsEmpty())) << name;
    for (const fs::path& file : files) {
      if (!is_cpp(file)) continue;
      const bool is_public = fs::relative(file, checkout / name).string().starts_with("include/");
      for (const Include& include : includes_of(file)) {
        const auto other = room_of(include.text);
        const auto library = library_of(include.text);
        const bool allowed = other ? *other == name || room.rooms.contains(*other)
                                   : !library || (!is_public && room.libraries.contains(*library));
        if (!allowed) offences.push_back(place(file, include));
      }
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

TEST(Structure, a_program_includes_only_public_headers_and_its_own) {
  std::vector<std::string> offences;
  for (const auto& [name, libraries] : programs()) {
    for (const fs::path& file : files_below(checkout / name)) {
      if (!is_cpp(file)) continue;
      for (const Include& include : includes_of(file)) {
        const auto library = library_of(include.text);
        if (library && !libraries.contains(*library) && !trains_with(file, *library) &&
            !is_exception(file, include))
          offences.push_back(place(file, include));
      }
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

// libtorch/CMakeLists.txt compiles this source so that at::RecordFunction works; in others it fails
// at random operators.
TEST(Structure, one_source_of_the_rooms_uses_the_record_functions_of_torch) {
  std::vector<std::string> users;
  for (const auto& [name, room] : rooms()) {
    for (const fs::path& file : files_below(checkout / name)) {
      if (!is_cpp(file)) continue;
      bool uses = false;
      std::ifstream in(file);
      for (std::string line; std::getline(in, line);)
        uses = uses ||
               line.substr(0, line.find("//")).find("RecordFunction") != std::string::npos ||
               line.find("record_function.h") != std::string::npos;
      if (uses) users.push_back(fs::relative(file, checkout).string());
    }
  }
  EXPECT_THAT(users, ElementsAre("libtorch/src/operator_listener.cc"));
}

TEST(Structure, nobody_includes_private_headers_of_another_room) {
  std::vector<std::string> offences;
  Names folders;
  for (const auto& [name, room] : rooms()) folders.insert(name);
  for (const auto& [name, libraries] : programs()) folders.insert(name);
  for (const std::string& name : folders) {
    for (const fs::path& file : files_below(checkout / name)) {
      if (!is_cpp(file)) continue;
      for (const Include& include : includes_of(file)) {
        if (include.angled || is_exception(file, include)) continue;
        if (const auto room = room_of(include.text)) {
          const fs::path header = room->empty() ? checkout / "include" / include.text
                                                : checkout / *room / "include" / include.text;
          if (!fs::exists(header)) offences.push_back(place(file, include) + ": no public header");
          continue;
        }
        const bool beside = fs::exists(file.parent_path() / include.text);
        const bool in_own_room = fs::exists(checkout / name / "src" / include.text);
        // Targets of fuzzing judge the runs of the tests.
        const bool in_tests =
            (name == "tests" || name == "fuzz") && fs::exists(checkout / "tests" / include.text);
        // The program `cupel` is the command line and the demo, and tests/cli tests both; saving is
        // also measured on the network that the demo trains.
        const bool in_tests_of_cli = file.parent_path() == checkout / "tests" / "cli";
        const bool may_know_demo = in_tests_of_cli ||
                                   file == checkout / "bench" / "loop_bench.cc" ||
                                   file == checkout / "tests" / "outage" / "trainer.cc";
        const bool of_command =
            (may_know_demo && fs::exists(checkout / "cli" / "src" / include.text)) ||
            ((name == "cli" || in_tests_of_cli) &&
             fs::exists(checkout / "command" / "src" / include.text));
        const bool generated = include.text.ends_with(".inc");
        if (library_of(include.text) || beside || in_own_room || in_tests || of_command ||
            generated)
          continue;
        offences.push_back(place(file, include));
      }
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

TEST(Structure, no_private_header_path_climbs_out_of_its_folder) {
  std::vector<std::string> offences;
  for (const auto& entry : fs::directory_iterator(checkout)) {
    if (!entry.is_directory() || entry.path().filename() == "build") continue;
    for (const fs::path& file : files_below(entry.path())) {
      if (!is_cpp(file)) continue;
      for (const Include& include : includes_of(file))
        if (include.text.find("..") != std::string::npos && !is_exception(file, include))
          offences.push_back(place(file, include));
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

// Private headers that declare outside of cupel::<room>_detail, and why.
const Names& declared_elsewhere() {
  static const Names table = {
      // A public type that its users only point to.
      "trial/src/snapshot.h",
      // What public classes hide: a friend, and the inner struct of each.
      "core/src/configuration_json.h",
      "writer/src/hook_state.h",
  };
  return table;
}

TEST(Structure, private_headers_declare_in_the_namespace_of_their_room_only) {
  std::vector<std::string> offences;
  for (const auto& [name, room] : rooms()) {
    // A room without public headers is internal as a whole.
    const bool has_promise = fs::exists(checkout / name / "include");
    const std::string expected = "namespace cupel::" + name + (has_promise ? "_detail" : "");
    for (const fs::path& file : files_below(checkout / name / "src")) {
      const std::string path = fs::relative(file, checkout).string();
      if (file.extension() != ".h" || declared_elsewhere().contains(path)) continue;
      std::ifstream in(file);
      bool is_declared = false;
      std::string outside;  // the last other namespace, which may have forward declarations only
      for (std::string line; std::getline(in, line);) {
        if (line.starts_with("namespace cupel")) {
          const bool is_inside =
              line == expected + " {" || line.starts_with(expected + "::");  // or within it
          is_declared = is_declared || is_inside;
          outside = is_inside ? "" : line;
        } else if (line.starts_with("}")) {
          outside.clear();
        } else if (!outside.empty() && !line.empty() &&
                   !((line.starts_with("class ") || line.starts_with("struct ")) &&
                     line.ends_with(";"))) {
          offences.push_back(path + " declares in " + outside);
          outside.clear();
        }
      }
      if (!is_declared) offences.push_back(path + " has no " + expected);
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

// What a source of more than a hundred lines is about stands at its top, in 3 to 14 lines.
TEST(Structure, a_long_source_of_a_store_or_an_adapter_opens_with_a_head_comment) {
  constexpr std::size_t kLong = 100, kLeast = 3, kMost = 14;
  std::vector<std::string> offences;
  for (const std::string name : {"store", "s3", "libtorch", "xgboost"}) {
    for (const fs::path& file : files_below(checkout / name / "src")) {
      if (file.extension() != ".cc") continue;
      std::ifstream in(file);
      std::size_t lines = 0, comment = 0;
      for (std::string line; std::getline(in, line); ++lines)
        if (comment == lines && line.starts_with("//")) ++comment;
      if (lines > kLong && (comment < kLeast || comment > kMost))
        offences.push_back(fs::relative(file, checkout).string() + ": " + std::to_string(comment) +
                           " lines");
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

TEST(Structure, the_table_of_rooms_in_the_documents_is_the_one_that_is_enforced) {
  std::ifstream in(checkout / "docs/architecture.md");
  std::map<std::string, Names, std::less<>> documented;
  const auto quoted = [](std::string_view cell) {
    std::vector<std::string> texts;
    for (std::size_t at = cell.find('`'); at != std::string_view::npos;) {
      const std::size_t end = cell.find('`', at + 1);
      if (end == std::string_view::npos) break;
      texts.emplace_back(cell.substr(at + 1, end - at - 1));
      at = cell.find('`', end + 1);
    }
    return texts;
  };
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("|")) {
      inside = false;
    } else if (line.starts_with("| room | holds | may include |")) {
      inside = true;
    } else if (inside && !line.starts_with("| ---")) {
      const std::size_t second = line.find('|', 1);
      const std::size_t third = line.find('|', second + 1);
      const auto name = quoted(std::string_view(line).substr(0, second));
      const auto may = quoted(std::string_view(line).substr(third));
      ASSERT_EQ(name.size(), 1U) << line;
      documented[name.front()] = Names(may.begin(), may.end());
    }
  }
  std::map<std::string, Names, std::less<>> enforced;
  for (const auto& [name, room] : rooms()) enforced[name] = room.rooms;
  EXPECT_EQ(documented, enforced);
}

// A stranger finds the answer in the file that the document names: the file is there, and it has
// the function that is named.
TEST(Structure, each_question_in_the_documents_is_answered_by_a_file_that_is_there) {
  std::ifstream in(checkout / "docs/architecture.md");
  std::size_t questions = 0;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| question | file | there |")) inside = true;
    if (!line.starts_with("|")) inside = false;
    if (!inside || !line.starts_with("| ") || line.find('?') == std::string::npos) continue;
    ++questions;
    const auto quoted_from = [&](std::size_t at) {
      const std::size_t begin = line.find('`', at);
      if (begin == std::string::npos) return std::string();
      return line.substr(begin + 1, line.find('`', begin + 1) - begin - 1);
    };
    const std::size_t answer = line.find('|', line.find('?'));
    const std::string file = quoted_from(answer);
    std::string function = quoted_from(line.find('|', answer + 1));
    function = function.substr(0, function.find('('));
    if (const auto colon = function.rfind(':'); colon != std::string::npos)
      function.erase(0, colon + 1);
    std::ifstream source(checkout / file);
    const std::string text{std::istreambuf_iterator<char>(source), {}};
    EXPECT_FALSE(text.empty()) << line;
    EXPECT_NE(text.find(function), std::string::npos) << line;
  }
  EXPECT_EQ(questions, 8U);
}

// Whether `word` is somewhere in the code, and no part of a longer name before it.
bool begins_a_name(std::string_view code, const std::string& word) {
  for (std::size_t at = 0; (at = code.find(word, at)) != std::string_view::npos; ++at)
    if (at == 0 ||
        (std::isalnum(static_cast<unsigned char>(code[at - 1])) == 0 && code[at - 1] != '_'))
      return true;
  return false;
}

// core/src/new_file.cc makes all files and folders, with their modes and without following links.
// docs/architecture.md lists who has it do so.
TEST(Structure, files_are_made_in_one_place_and_the_documents_list_for_whom) {
  const std::vector<std::string> ways = {"O_CREAT",          "O_TMPFILE",
                                         "ofstream",         "std::fstream",
                                         "fopen(",           "freopen(",
                                         "tmpfile",          "mkstemp",
                                         "mkdtemp",          "mkostemp",
                                         "creat(",           "mkdir(",
                                         "mkdirat(",         "mknod",
                                         "mkfifo",           "symlink(",
                                         "create_directory", "create_directories",
                                         "copy_file",        "fs::copy(",
                                         "filesystem::copy("};
  const std::vector<std::string> helpers = {"create_file(", "open_or_create_file(",
                                            "make_directory(", "make_directories(",
                                            "TemporaryFile"};
  const std::string maker = "core/src/new_file.cc", promise = "core/include/cupel/core/new_file.h";
  std::ifstream in(checkout / "docs/architecture.md");
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> offences;
  std::set<std::string> folders = {"cli"};
  for (const auto& [name, room] : rooms()) folders.insert(name);
  for (const std::string& folder : folders) {
    for (const fs::path& file : files_below(checkout / folder)) {
      const std::string name = fs::relative(file, checkout).string();
      if (!is_cpp(file) || name == maker || name == promise) continue;
      std::ifstream source(file);
      bool makes_files = false;
      for (std::string line; std::getline(source, line);) {
        const std::string_view code = std::string_view(line).substr(0, line.find("//"));
        const auto has = [&](const std::string& word) { return begins_a_name(code, word); };
        for (const std::string& way : ways)
          if (has(way)) offences.push_back(name + ": " + way);
        makes_files = makes_files || std::ranges::any_of(helpers, has);
      }
      if (makes_files && name.ends_with(".cc") &&
          document.find('`' + name + '`') == std::string::npos)
        offences.push_back(name + " makes files and is not in docs/architecture.md");
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

// The sources that write without a Printer (cupel/core/printer.h) or make JSON without
// printable_json(), and why.
const Names& ways_out() {
  static const Names table = {
      // The streams of the process, which become Printers.
      "command/src/command_main.cc has std::cout",
      "command/src/command_main.cc has std::cerr",
      // Below the Printers: breaks lines, and draws a line that is printable() already.
      "command/src/wrapped_lines.cc has std::ostream",
      "command/src/wrapped_lines.h has std::ostream",
      "command/src/status_line.cc has std::cerr",
      "command/src/status_line.h has std::ostream",
      "core/include/cupel/core/printer.h has std::ostream",
      // Files that programs read, descriptors that wake threads, keys.
      "core/src/new_file.cc has ::write(",
      "s3/src/crt_profile.cc has ::write(",
      "store/src/local_watch.cc has ::write(",
      // JSON: one function for all outputs, and the files of runs and spools.
      "core/include/cupel/core/printable.h has .dump(",
      "core/src/collection_configuration.cc has .dump(",
      "core/src/configuration_reading.cc has .dump(",
      "format/src/collection_json.cc has .dump(",
      "delivery/src/spool.cc has .dump(",
      "format/src/stop_file.cc has .dump(",
      "writer/src/checkpoint_metadata.cc has .dump(",
      "writer/src/metric_log.cc has .dump(",
      "writer/src/note_text.cc has .dump(",
  };
  return table;
}

TEST(Structure, text_leaves_by_the_printer_the_log_and_the_files_in_the_list_only) {
  const std::vector<std::string> marks = {
      "std::ostream", "std::ofstream", "std::fstream", "std::cout", "std::cerr",
      "std::clog",    "printf(",       "fputs(",       "puts(",     "fputc(",
      "putchar(",     "fwrite(",       "perror(",      "::write(",  ".dump("};
  const auto has_word = [](const std::string& line, const std::string& mark) {
    const auto is_of_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (std::size_t at = 0; (at = line.find(mark, at)) != std::string::npos; ++at) {
      const std::size_t end = at + mark.size();
      const bool begins = mark.front() == '.' || at == 0 || !is_of_name(line[at - 1]);
      const bool ends = mark.back() == '(' || end == line.size() || !is_of_name(line[end]);
      if (begins && ends) return true;
    }
    return false;
  };
  Names found;
  Names folders = {"cli"};
  for (const auto& [name, room] : rooms()) folders.insert(name);
  for (const std::string& folder : folders)
    for (const fs::path& file : files_below(checkout / folder)) {
      if (!is_cpp(file)) continue;
      std::ifstream in(file);
      for (std::string line; std::getline(in, line);) {
        const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
        if (line.compare(text, 2, "//") == 0) continue;
        for (const std::string& mark : marks)
          if (has_word(line, mark))
            found.insert(fs::relative(file, checkout).string() + " has " + mark);
      }
    }
  EXPECT_EQ(found, ways_out());
}

TEST(Structure, nothing_is_left_to_be_done_later) {
  const std::vector<std::string> marks = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                          std::string("XX") + "X"};
  const Names texts = {".h",  ".cc",   ".md", ".txt", ".cmake", ".in",
                       ".sh", ".json", ".py", ".pyi", ".toml"};
  std::vector<std::string> found;
  const auto look_at = [&](const fs::path& file) {
    if (!texts.contains(file.extension().string())) return;
    std::ifstream in(file);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      for (const std::string& mark : marks) {
        const auto at = line.find(mark);
        if (at == std::string::npos) continue;
        // mktemp's XXXXXX is none.
        if (line.compare(at, 6, std::string(6, 'X')) == 0 && mark[0] == 'X') continue;
        found.push_back(fs::relative(file, checkout).string() + ":" + std::to_string(number));
      }
    }
  };
  for (const auto& entry : fs::directory_iterator(checkout)) {
    const std::string name = entry.path().filename().string();
    if (name == "build" || name == "runs" || name == ".git") continue;
    if (entry.is_regular_file()) look_at(entry.path());
    if (entry.is_directory())
      for (const fs::path& file : files_below(entry.path())) look_at(file);
  }
  EXPECT_THAT(found, IsEmpty());
}

}  // namespace
