// The parameters one by one: what each legal value does, and that each illegal one is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configuration_fixture.h"
#include "core/log_capture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Steps = std::vector<std::int64_t>;

struct Effect {
  const char* name;
  const char* parameters;
  void (*expect)(const HookOptions& options);
};

void PrintTo(const Effect& row, std::ostream* out) { *out << row.name; }

class HookParameter : public ::testing::TestWithParam<Effect> {};

TEST_P(HookParameter, has_the_effect_of_its_row) {
  const testing::LogCapture log;
  const Environment no_job("TRAINING_JOB_NAME", nullptr);
  GetParam().expect(parse(hook_with(GetParam().parameters)).options);
  EXPECT_THAT(log.lines(), IsEmpty());
}

template <std::int64_t kInterval>
void interval_is(const HookOptions& options) {
  for (const Mode mode : kAllModes)
    EXPECT_EQ(options.save_config.mode(mode).save_interval, kInterval);
}

void raw_values(const HookOptions& options) { EXPECT_EQ(options.reduction_config, std::nullopt); }

constexpr Effect kSaving[] = {
    {"interval_as_text", R"("save_interval": "7")", interval_is<7>},
    {"interval_as_number", R"("save_interval": 7)", interval_is<7>},
    {"interval_as_whole_float", R"("save_interval": 7.0)", interval_is<7>},
    {"interval_with_blanks", R"("save_interval": " +7 ")", interval_is<7>},
    {"largest_interval", R"("save_interval": "9223372036854775807")",
     interval_is<std::numeric_limits<std::int64_t>::max()>},
    {"null_interval", R"("save_interval": null)", interval_is<500>},
    {"start", R"("start_step": "3")",
     [](const HookOptions& o) { EXPECT_EQ(o.save_config.mode(Mode::Eval).start_step, 3); }},
    {"end_0", R"("end_step": 0)",
     [](const HookOptions& o) { EXPECT_EQ(o.save_config.mode(Mode::Eval).end_step, 0); }},
    {"steps_as_text", R"("save_steps": "1, 2,30")",
     [](const HookOptions& o) {
       EXPECT_EQ(o.save_config.mode(Mode::Global).save_steps, (Steps{1, 2, 30}));
     }},
    {"steps_as_array", R"("save_steps": [1, "2"])",
     [](const HookOptions& o) {
       EXPECT_EQ(o.save_config.mode(Mode::Train).save_steps, (Steps{1, 2}));
     }},
    {"one_step_as_number", R"("save_steps": 5)",
     [](const HookOptions& o) { EXPECT_EQ(o.save_config.mode(Mode::Train).save_steps, Steps{5}); }},
    {"a_prefix_in_any_case", R"("tRaIn.save_interval": "2", "PREDICT.start_step": 4)",
     [](const HookOptions& o) {
       EXPECT_EQ(o.save_config.mode(Mode::Train).save_interval, 2);
       EXPECT_EQ(o.save_config.mode(Mode::Eval).save_interval, 500);
       EXPECT_EQ(o.save_config.mode(Mode::Predict).start_step, 4);
     }},
    {"every_prefix",
     R"("train.save_steps": "1", "eval.save_steps": "2", )"
     R"("predict.end_step": 3, "global.start_step": 4)",
     [](const HookOptions& o) {
       EXPECT_EQ(o.save_config.mode(Mode::Train).save_steps, Steps{1});
       EXPECT_EQ(o.save_config.mode(Mode::Eval).save_steps, Steps{2});
       EXPECT_EQ(o.save_config.mode(Mode::Predict).end_step, 3);
       EXPECT_EQ(o.save_config.mode(Mode::Global).start_step, 4);
     }},
};

constexpr Effect kOthers[] = {
    {"patterns_as_text", R"("include_regex": "relu , ^tanh")",
     [](const HookOptions& o) { EXPECT_THAT(o.include_regex, ElementsAre("relu", "^tanh")); }},
    {"patterns_as_array_keep_their_commas", R"("include_regex": ["a{1,2}", " b"])",
     [](const HookOptions& o) { EXPECT_THAT(o.include_regex, ElementsAre("a{1,2}", " b")); }},
    {"no_patterns", R"("include_regex": [])",
     [](const HookOptions& o) { EXPECT_THAT(o.include_regex, IsEmpty()); }},
    {"save_all_True", R"("save_all": "True")",
     [](const HookOptions& o) { EXPECT_TRUE(o.save_all); }},
    {"save_all_true", R"("save_all": "true")",
     [](const HookOptions& o) { EXPECT_TRUE(o.save_all); }},
    {"save_all_1", R"("save_all": "1")", [](const HookOptions& o) { EXPECT_TRUE(o.save_all); }},
    {"save_all_as_number", R"("save_all": 1)",
     [](const HookOptions& o) { EXPECT_TRUE(o.save_all); }},
    {"save_all_as_boolean", R"("save_all": true)",
     [](const HookOptions& o) { EXPECT_TRUE(o.save_all); }},
    {"save_all_False", R"("save_all": "False")",
     [](const HookOptions& o) { EXPECT_FALSE(o.save_all); }},
    {"save_all_null", R"("save_all": null)",
     [](const HookOptions& o) { EXPECT_FALSE(o.save_all); }},
    {"all_workers", R"("include_workers": "all")",
     [](const HookOptions& o) { EXPECT_EQ(o.include_workers, "all"); }},
    {"one_worker", R"("include_workers": "one")",
     [](const HookOptions& o) { EXPECT_EQ(o.include_workers, "one"); }},
    {"dry_run", R"("dry_run": "1")", [](const HookOptions& o) { EXPECT_TRUE(o.dry_run); }},
    {"tensorboard", R"("export_tensorboard": "true", "tensorboard_dir": "boards")",
     [](const HookOptions& o) {
       EXPECT_TRUE(o.export_tensorboard);
       EXPECT_EQ(o.tensorboard_dir, "boards");
     }},
    {"include_collections_of_an_old_sample", R"("include_collections": ["weights", 3])",
     [](const HookOptions& o) { EXPECT_THAT(o.include_collections, IsEmpty()); }},
};

constexpr Effect kDelivery[] = {
    {"nothing_of_the_spool", R"("spool_dir": null, "spool_bytes": null, "upload_parallelism": null,
        "s3_sync": null, "close_timeout": null, "when_full": null, "segment_age": null)",
     [](const HookOptions& o) {
       const HookOptions defaults;
       EXPECT_EQ(o.spool_dir, "");
       EXPECT_EQ(o.spool_bytes, defaults.spool_bytes);
       EXPECT_EQ(o.upload_parallelism, defaults.upload_parallelism);
       EXPECT_EQ(o.s3_sync, S3Sync::On);
       EXPECT_EQ(o.close_timeout, defaults.close_timeout);
       EXPECT_EQ(o.when_full, WhenFull::Block);
       EXPECT_EQ(o.segment_bytes, defaults.segment_bytes);
       EXPECT_FALSE(o.segment_age);
     }},
    {"a_spool", R"("spool_dir": "/scratch/spools", "spool_bytes": "1073741824")",
     [](const HookOptions& o) {
       EXPECT_EQ(o.spool_dir, "/scratch/spools");
       EXPECT_EQ(o.spool_bytes, 1U << 30U);
     }},
    {"the_least_spool", R"("spool_bytes": 1048576)",
     [](const HookOptions& o) { EXPECT_EQ(o.spool_bytes, 1U << 20U); }},
    {"steps_that_are_dropped", R"("when_full": "drop_step")",
     [](const HookOptions& o) { EXPECT_EQ(o.when_full, WhenFull::DropStep); }},
    {"steps_that_wait", R"("when_full": "block")",
     [](const HookOptions& o) { EXPECT_EQ(o.when_full, WhenFull::Block); }},
    {"few_requests_at_once", R"("upload_parallelism": "1")",
     [](const HookOptions& o) { EXPECT_EQ(o.upload_parallelism, 1); }},
    {"most_requests_at_once", R"("upload_parallelism": 64)",
     [](const HookOptions& o) { EXPECT_EQ(o.upload_parallelism, 64); }},
    {"uploads_by_others", R"("s3_sync": "off")",
     [](const HookOptions& o) { EXPECT_EQ(o.s3_sync, S3Sync::Off); }},
    {"uploads", R"("s3_sync": "on")",
     [](const HookOptions& o) { EXPECT_EQ(o.s3_sync, S3Sync::On); }},
    {"a_close_that_waits_for_a_day", R"("close_timeout": "86400")",
     [](const HookOptions& o) { EXPECT_EQ(o.close_timeout, std::chrono::hours(24)); }},
    {"a_close_that_does_not_wait", R"("close_timeout": 0)",
     [](const HookOptions& o) { EXPECT_EQ(o.close_timeout, std::chrono::seconds(0)); }},
    {"segments", R"("segment_bytes": "1000", "segment_age": 2)",
     [](const HookOptions& o) {
       EXPECT_EQ(o.segment_bytes, 1000U);
       EXPECT_EQ(o.segment_age, std::chrono::seconds(2));
     }},
};

constexpr Effect kReductions[] = {
    {"reductions", R"("reductions": "min, abs_mean,l2_norm,,abs_l1")",
     [](const HookOptions& o) {
       EXPECT_EQ(o.reduction_config, (ReductionConfig{.reductions = {"min"},
                                                      .abs_reductions = {"mean"},
                                                      .norms = {"l2"},
                                                      .abs_norms = {"l1"}}));
     }},
    {"reductions_and_raw", R"("reductions": "median", "save_raw_tensor": "true")",
     [](const HookOptions& o) {
       EXPECT_EQ(o.reduction_config,
                 (ReductionConfig{.reductions = {"median"}, .save_raw_tensor = true}));
     }},
    {"shape_alone_is_the_shape_only", R"("save_shape": "True")",
     [](const HookOptions& o) {
       EXPECT_EQ(o.reduction_config, ReductionConfig{.save_shape = true});
     }},
    {"shape_and_raw", R"("save_shape": true, "save_raw_tensor": true)",
     [](const HookOptions& o) {
       EXPECT_EQ(o.reduction_config,
                 (ReductionConfig{.save_raw_tensor = true, .save_shape = true}));
     }},
    {"raw_alone_is_the_default", R"("save_raw_tensor": "true")", raw_values},
    {"no_shape_alone_says_nothing", R"("save_shape": "false")", raw_values},
    {"empty_reductions_say_nothing", R"("reductions": "")", raw_values},
    {"null_says_nothing", R"("reductions": null, "save_shape": null, "save_raw_tensor": null)",
     raw_values},
};

constexpr auto kEffectName = [](const auto& row) { return std::string(row.param.name); };
INSTANTIATE_TEST_SUITE_P(Saving, HookParameter, ::testing::ValuesIn(kSaving), kEffectName);
INSTANTIATE_TEST_SUITE_P(Reductions, HookParameter, ::testing::ValuesIn(kReductions), kEffectName);
INSTANTIATE_TEST_SUITE_P(Delivery, HookParameter, ::testing::ValuesIn(kDelivery), kEffectName);
INSTANTIATE_TEST_SUITE_P(Others, HookParameter, ::testing::ValuesIn(kOthers), kEffectName);

struct Illegal {
  const char* name;
  const char* key;
  const char* value;   // JSON
  const char* legal;   // a part of what the message says may stand there
  bool shared = true;  // a parameter of collections as well
};

void PrintTo(const Illegal& row, std::ostream* out) { *out << row.name; }

class IllegalParameter : public ::testing::TestWithParam<Illegal> {};

TEST_P(IllegalParameter, is_refused_by_its_place_with_what_is_legal_and_what_was_given) {
  const Illegal& row = GetParam();
  const std::string parameter = std::string("\"") + row.key + "\": " + row.value;
  EXPECT_THAT(refusal(hook_with(parameter)),
              AllOf(StartsWith(std::string("hook.json: 1 mistake\n  HookParameters.") + row.key +
                               ": must be "),
                    HasSubstr(row.legal), HasSubstr(row.value)));
  if (row.shared) {
    EXPECT_THAT(refusal(hook_and_collection("", parameter)),
                StartsWith("hook.json: 1 mistake\n  CollectionConfigurations[0]."
                           "CollectionParameters." +
                           std::string(row.key) + ": must be "));
  }
}

constexpr const char* kFrom1 = "a whole number from 1 to 9223372036854775807";
constexpr const char* kFrom0 = "a whole number from 0 to 9223372036854775807";
constexpr const char* kStepNumbers = "whole numbers from 0";
constexpr const char* kBool = "one of True, true, 1, False, false, 0";
constexpr const char* kWorkers = "\"one\" or \"all\"";

INSTANTIATE_TEST_SUITE_P(
    Rows, IllegalParameter,
    ::testing::Values(
        Illegal{"interval_0", "save_interval", "\"0\"", kFrom1},
        Illegal{"interval_0_as_number", "save_interval", "0", kFrom1},
        Illegal{"interval_negative", "save_interval", "-5", kFrom1},
        Illegal{"interval_3_5", "save_interval", "\"3.5\"", kFrom1},
        Illegal{"interval_3_5_as_number", "save_interval", "3.5", kFrom1},
        Illegal{"interval_word", "save_interval", "\"abc\"", kFrom1},
        Illegal{"interval_empty", "save_interval", "\"\"", kFrom1},
        Illegal{"interval_two_signs", "save_interval", "\"+-3\"", kFrom1},
        Illegal{"interval_followed_by_a_word", "save_interval", "\"3 steps\"", kFrom1},
        Illegal{"interval_too_large", "save_interval", "\"9223372036854775808\"", kFrom1},
        Illegal{"interval_too_large_as_number", "save_interval", "9223372036854775808", kFrom1},
        Illegal{"interval_1e300", "save_interval", "1e+300", kFrom1},
        Illegal{"interval_boolean", "save_interval", "true", kFrom1},
        Illegal{"interval_array", "save_interval", "[1]", kFrom1},
        Illegal{"interval_of_a_mode", "Eval.save_interval", "\"x\"", kFrom1},
        Illegal{"start_negative", "start_step", "\"-1\"", kFrom0},
        Illegal{"end_negative", "predict.end_step", "-1", kFrom0},
        Illegal{"steps_empty", "save_steps", "\"\"", kStepNumbers},
        Illegal{"steps_empty_array", "train.save_steps", "[]", kStepNumbers},
        Illegal{"steps_word", "save_steps", "\"1,x\"", kStepNumbers},
        Illegal{"steps_gap", "save_steps", "\"1,,2\"", kStepNumbers},
        Illegal{"steps_negative", "save_steps", "\"1,-2\"", kStepNumbers},
        Illegal{"steps_fraction", "save_steps", "[1,2.5]", kStepNumbers},
        Illegal{"steps_nested", "save_steps", "[[1]]", kStepNumbers},
        Illegal{"steps_boolean", "save_steps", "true", kStepNumbers},
        Illegal{"pattern_open", "include_regex", "\"relu(\"", "a regular expression"},
        Illegal{"pattern_of_an_array", "include_regex", "[\"a\",7]", "array of patterns"},
        Illegal{"pattern_number", "include_regex", "7", "array of patterns"},
        Illegal{"pattern_empty", "include_regex", "\"\"", "none of them empty"},
        Illegal{"pattern_after_a_comma", "include_regex", "\"relu,\"", "none of them empty"},
        Illegal{"reduction_unknown", "reductions", "\"mean,men\"", "median, l1, l2"},
        Illegal{"reduction_array", "reductions", "[\"mean\"]", "a comma list of min"},
        Illegal{"raw_word", "save_raw_tensor", "\"yes\"", kBool},
        Illegal{"raw_upper_case", "save_raw_tensor", "\"TRUE\"", kBool},
        Illegal{"shape_2", "save_shape", "2", kBool},
        Illegal{"shape_empty", "save_shape", "\"\"", kBool},
        Illegal{"save_all_word", "save_all", "\"all\"", kBool, false},
        Illegal{"dry_run_array", "dry_run", "[true]", kBool, false},
        Illegal{"workers_some", "include_workers", "\"some\"", kWorkers, false},
        Illegal{"workers_boolean", "include_workers", "true", kWorkers, false},
        Illegal{"spool_nowhere", "spool_dir", "\"\"", "path", false},
        Illegal{"spool_small", "spool_bytes", "1048575", "from 1048576 to", false},
        Illegal{"spool_with_a_unit", "spool_bytes", "\"16 GiB\"", "from 1048576 to", false},
        Illegal{"when_full_word", "when_full", "\"drop\"", "\"block\" or \"drop_step\"", false},
        Illegal{"no_uploads", "upload_parallelism", "0", "from 1 to 64", false},
        Illegal{"many_uploads", "upload_parallelism", "\"65\"", "from 1 to 64", false},
        Illegal{"sync_boolean", "s3_sync", "false", "\"on\" or \"off\"", false},
        Illegal{"sync_upper_case", "s3_sync", "\"Off\"", "\"on\" or \"off\"", false},
        Illegal{"timeout_negative", "close_timeout", "-1", "from 0 to 31536000", false},
        Illegal{"timeout_of_ages", "close_timeout", "31536001", "from 0 to 31536000", false},
        Illegal{"timeout_with_a_unit", "close_timeout", "\"10m\"", "from 0 to 31536000", false},
        Illegal{"segments_of_nothing", "segment_bytes", "0", kFrom1, false},
        Illegal{"segments_of_no_time", "segment_age", "0", "from 1 to 31536000", false},
        Illegal{"tensorboard_word", "export_tensorboard", "\"on\"", kBool, false},
        Illegal{"tensorboard_nowhere", "tensorboard_dir", "\"\"", "path", false}),
    kEffectName);

TEST(IllegalParameters, a_bad_pattern_tells_the_place_and_the_reason) {
  EXPECT_THAT(refusal(hook_with(R"("include_regex": "relu,tanh(")")),
              AllOf(HasSubstr("\"tanh(\""), HasSubstr("offset 5: missing")));
}

TEST(IllegalParameters, one_item_of_a_list_is_told_beside_the_list) {
  EXPECT_THAT(refusal(hook_with(R"("save_steps": "1,2,three")")),
              HasSubstr("not \"three\" in \"1,2,three\""));
}

TEST(IllegalParameters, a_mode_that_is_named_twice_is_a_mistake) {
  EXPECT_THAT(refusal(hook_with(R"("train.end_step": 1, "TRAIN.end_step": 2)")),
              HasSubstr("train.end_step: is given twice"));
}

TEST(IllegalParameters, long_values_are_shortened_and_control_characters_escaped) {
  const std::string long_value(5000, 'x');
  EXPECT_LT(refusal(hook_with("\"save_interval\": \"" + long_value + '"')).size(), 300U);
  EXPECT_THAT(refusal(hook_with("\"save_interval\": \"a\\u0007\\u001b\x7f\"")),
              HasSubstr(R"("a\u0007\u001b\u007f")"));
}

TEST(UnknownParameter, is_ignored_with_one_warning_that_names_the_nearest_known_key) {
  const testing::LogCapture log;
  parse(hook_and_collection(R"("save_intervall": "7", "Train.save_step": 3)",
                            R"("tensor_name": "x", "save_histograms": true)"));
  std::vector<std::string> lines;
  for (const auto& [level, line] : log.lines()) {
    EXPECT_EQ(level, LogLevel::Warning);
    lines.push_back(line);
  }
  EXPECT_THAT(lines,
              ::testing::UnorderedElementsAre(
                  AllOf(StartsWith("hook.json: HookParameters: "), HasSubstr("\"save_intervall\""),
                        HasSubstr("nearest known one is \"save_interval\"")),
                  AllOf(HasSubstr("\"Train.save_step\""), HasSubstr("\"train.save_steps\"")),
                  AllOf(StartsWith("hook.json: CollectionConfigurations[0].CollectionParameters: "),
                        HasSubstr("\"tensor_name\"")),
                  AllOf(HasSubstr("\"save_histograms\""), HasSubstr("\"save_histogram\""))));
}

TEST(HookParameters, that_save_nothing_are_taken_at_their_word_with_a_warning) {
  const testing::LogCapture log;
  const auto read = parse(hook_with(R"("save_raw_tensor": "false")"));
  EXPECT_EQ(read.options.reduction_config, ReductionConfig{});
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_THAT(log.lines()[0].second, HasSubstr("nothing is saved"));
}

TEST(HookParameters, for_tensorboard_are_ignored_in_a_managed_job) {
  const Environment job("TRAINING_JOB_NAME", "job-1");
  const auto read = parse(hook_with(R"("export_tensorboard": true, "tensorboard_dir": "x")"));
  EXPECT_FALSE(read.options.export_tensorboard);
  EXPECT_EQ(read.options.tensorboard_dir, "");
}

}  // namespace
}  // namespace cupel
