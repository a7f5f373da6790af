#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "cli/cli_fixture.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/writer/hook_configuration.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CheckCommand : public CliTest {
 protected:
  /// A file, for the command line.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  /// A configuration of the hook with these collections.
  std::string hook(const std::string& collections) const {
    return write("hook.json", R"({"CollectionConfigurations": [)" + collections + "]}");
  }
  /// A configuration that `check --emit-hook-config` printed.
  std::string emitted(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "check");
    arguments.emplace_back("--emit-hook-config");
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, kExitFine) << ran.err;
    return write("emitted.json", ran.out);
  }
  static Json collection(const std::string& path, const std::string& name) {
    const Json document = Json::parse(std::ifstream(path));
    for (const Json& entry : document["CollectionConfigurations"])
      if (entry["CollectionName"] == name) return entry["CollectionParameters"];
    return nullptr;
  }
};

TEST_F(CheckCommand, says_what_is_missing_and_what_closes_it) {
  const Ran ran =
      run({"check", hook(R"({"CollectionName": "weights"})"), "--rule", "VanishingGradient"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(ran.out,
            "VanishingGradient: the collection gradients is not saved\n"
            "  needs      abs_mean, else l1, else raw values of them\n"
            "  for        the collection gradients\n"
            "  closed by  {\"CollectionName\":\"gradients\",\"CollectionParameters\":"
            "{\"reductions\":\"abs_mean\"}}\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(CheckCommand, is_0_where_nothing_is_missing) {
  const Ran ran =
      run({"check", hook(R"({"CollectionName": "gradients"})"), "--rule", "vanishing_gradient"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out, "VanishingGradient: what it needs is saved\n");
}

TEST_F(CheckCommand, in_json_is_an_array_of_gaps_with_stable_keys) {
  const Ran ran = run({"check", hook(R"({"CollectionName": "weights", "CollectionParameters":
                                         {"reductions": "l2", "save_interval": "100"}})"),
                       "--rule", "WeightUpdateRatio,num_steps=50", "--json"});
  EXPECT_EQ(ran.code, kExitFound);
  const Json gaps = ran.json();
  ASSERT_THAT(gaps, SizeIs(2));
  EXPECT_EQ(gaps[0].dump(),
            R"({"rule":"WeightUpdateRatio","name":"WeightUpdateRatio","gap":"source",)"
            R"("parameter":null,"tensors":"the collection weights",)"
            R"("found":"of the collection weights only l2 is saved","needed":"raw values",)"
            R"("closing":{"CollectionName":"weights","CollectionParameters":)"
            R"({"save_interval":"50","reductions":"l2_norm","save_raw_tensor":"true"}}})");
  EXPECT_EQ(gaps[1]["gap"], "interval");
  EXPECT_EQ(gaps[1]["parameter"], "num_steps");
  EXPECT_EQ(gaps[1]["found"], "the collection weights is saved every 100 steps of TRAIN");
}

TEST_F(CheckCommand, of_nothing_missing_is_an_empty_array_in_json) {
  const Ran ran = run({"check", hook(R"({"CollectionName": "gradients"})"), "--rule",
                       "VanishingGradient", "--json"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out, "[]\n");
}

TEST_F(CheckCommand, is_1_for_a_misspelt_collection_where_all_rules_are_fed) {
  const std::string path =
      hook(R"({"CollectionName": "gradients"}, {"CollectionName": "wieghts"})");
  const Ran ran = run({"check", path, "--rule", "VanishingGradient"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(ran.out,
            "VanishingGradient: what it needs is saved\n"
            "collection wieghts: it has neither patterns nor names; did you mean weights?\n");
  const Ran json = run({"check", path, "--rule", "VanishingGradient", "--json"});
  EXPECT_EQ(json.code, kExitFound);
  ASSERT_THAT(json.json(), SizeIs(1));
  EXPECT_EQ(json.json()[0]["rule"], nullptr);
  EXPECT_EQ(json.json()[0]["gap"], "collection");
  EXPECT_THAT(json.json()[0]["found"].get<std::string>(), EndsWith("; did you mean weights?"));
}

TEST_F(CheckCommand, goes_on_where_a_collection_is_filled_by_calls_only) {
  const std::string path = hook(R"({"CollectionName": "gradients"}, {"CollectionName": "mine"})");
  const Ran ran = run({"check", path, "--rule", "VanishingGradient"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out,
            "VanishingGradient: what it needs is saved\n"
            "collection mine: filled by calls only\n");
  EXPECT_EQ(run({"check", path, "--rule", "VanishingGradient", "--json"}).out, "[]\n");
}

TEST_F(CheckCommand, tells_of_a_misspelt_collection_in_the_configuration_that_it_completes) {
  const Ran ran =
      run({"check", hook(R"({"CollectionName": "wieghts"}, {"CollectionName": "mine"})"), "--rule",
           "VanishingGradient", "--emit-hook-config"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.err, EndsWith("collection wieghts: it has neither patterns nor names; did you "
                                "mean weights?\n"));
  EXPECT_EQ(Json::parse(ran.out)["CollectionConfigurations"].size(), 3);
}

TEST_F(CheckCommand, tells_of_a_misspelt_collection_that_a_run_has_not_filled) {
  WorkerWriter(store_)
      .collection("losses", {"loss"})
      .collection("wieghts", {})
      .collection("mine", {})
      .save_steps({0, 1})
      .finish();
  const Ran ran = run({"check", path(), "--rule", "Overtraining,patience_train=1"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, EndsWith("collection wieghts: it has neither patterns nor names; did you "
                                "mean weights?\n"));
  EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("mine")));
}

TEST_F(CheckCommand, looks_into_a_run) {
  WorkerWriter(store_)
      .collection("gradients", {"^gradient"})
      .save(0, {only_shape("gradient/w", {4}), scalar("loss", 1)})
      .finish();
  const Ran ran = run({"check", path(), "--rule", "VanishingGradient"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, StartsWith("VanishingGradient: of gradient/w only the shape is saved\n"));
  EXPECT_EQ(run({"check", path(), "--rule", "ExplodingTensor"}).code, kExitFine);
}

TEST_F(CheckCommand, names_a_worker_that_has_saved_nothing) {
  WorkerWriter silent(store_, {.worker = "worker_1", .num_workers = 2});
  WorkerWriter(store_, {.worker = "worker_0", .num_workers = 2})
      .collection("losses", {"loss"})
      .save_steps({0, 1})
      .close();
  silent.finish();
  const Ran ran = run({"check", path(), "--rule", "Overtraining,patience_train=1", "--json"});
  EXPECT_EQ(ran.code, kExitFound);
  ASSERT_THAT(ran.json(), SizeIs(1));
  EXPECT_EQ(ran.json()[0]["gap"], "worker");
  EXPECT_EQ(ran.json()[0]["found"], "worker_1 has saved nothing");
}

TEST_F(CheckCommand, does_not_miss_steps_of_a_run_that_goes_on) {
  WorkerWriter writer(store_);
  writer.collection("losses", {"loss"}).save_steps({0});
  EXPECT_EQ(run({"check", path(), "--rule", "Overtraining"}).code, kExitFine);
  writer.finish();
  const Ran ran = run({"check", path(), "--rule", "Overtraining"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, HasSubstr("loss is saved at 1 step of TRAIN\n  needs      6 steps "
                                 "(patience_train)\n"));
}

TEST_F(CheckCommand, takes_rules_from_a_file) {
  const std::string rules = write("rules.json", R"([{"RuleConfigurationName": "mine",
      "RuleParameters": {"rule_to_invoke": "DeadRelu", "tensor_regex": "act"}}])");
  const Ran ran = run({"check", hook(""), "--config", rules, "--json"});
  EXPECT_EQ(ran.code, kExitFound);
  ASSERT_THAT(ran.json(), SizeIs(1));
  EXPECT_EQ(ran.json()[0]["rule"], "DeadRelu");
  EXPECT_EQ(ran.json()[0]["name"], "mine");
  EXPECT_EQ(ran.json()[0]["gap"], "pattern");
  EXPECT_EQ(ran.json()[0]["parameter"], "tensor_regex");
}

TEST_F(CheckCommand, mistakes_are_2) {
  const std::string good = hook("");
  EXPECT_THAT(run({"check", good}).err, HasSubstr("no rule given"));
  EXPECT_THAT(run({"check", "--rule", "DeadRelu"}).err, HasSubstr("which run"));
  EXPECT_THAT(run({"check", good, "--rule", "DeadRelus"}).err, HasSubstr("DeadRelu"));
  EXPECT_THAT(run({"check", good, "--rule", "DeadRelu", "--profile", "x"}).err,
              HasSubstr("unknown profile"));
  EXPECT_THAT(run({"check", write("bad.json", "{"), "--rule", "DeadRelu"}).err,
              HasSubstr("this is no JSON"));
  EXPECT_THAT(run({"check", write("empty.json", ""), "--rule", "DeadRelu"}).err,
              HasSubstr("this is no JSON"));
  EXPECT_THAT(run({"check", file("absent"), "--rule", "DeadRelu"}).err,
              HasSubstr("There is no directory " + file("absent")));
  EXPECT_THAT(run({"check", file("absent.json"), "--rule", "DeadRelu"}).err,
              HasSubstr("There is no file " + file("absent.json")));
  EXPECT_THAT(
      run({"check", good, "--config", write("r.json", R"([{"RuleConfigurationName": "R"}])")}).err,
      HasSubstr("unknown rule \"R\""));
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"check", good},
           {"check", "--rule", "DeadRelu"},
           {"check", good, "--rule", "DeadRelus"},
           {"check", file("bad.json"), "--rule", "DeadRelu"},
           {"check", file("absent"), "--rule", "DeadRelu"},
           {"check", path(), "--rule", "DeadRelu", "--emit-hook-config"}})
    EXPECT_EQ(run(arguments).code, kExitError) << arguments.back();
}

TEST_F(CheckCommand, prints_names_of_others_without_their_control_characters) {
  const Ran ran = run({"check", hook(""), "--rule", "DeadRelu,tensor_regex=a\x1b\x07z"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(CheckCommand, emits_a_configuration_that_a_hook_reads) {
  const std::string merged = emitted({"--rule", "VanishingGradient"});
  const HookConfiguration read = read_hook_configuration(merged);
  ASSERT_THAT(read.collections, SizeIs(1));
  EXPECT_EQ(read.collections[0].name(), "gradients");
}

TEST_F(CheckCommand, emits_the_rest_of_the_hooks_configuration_as_it_was) {
  const std::string before =
      write("hook.json", R"({"DebugHookConfig": {"LocalPath": "runs/x", "S3OutputPath": "s3://b",
        "HookParameters": {"save_interval": "7"}, "CollectionConfigurations": null}})");
  const Json after = Json::parse(std::ifstream(emitted({before, "--rule", "VanishingGradient"})));
  EXPECT_EQ(after["LocalPath"], "runs/x");
  EXPECT_EQ(after["S3OutputPath"], "s3://b");
  EXPECT_EQ(after["HookParameters"]["save_interval"], "7");
  EXPECT_THAT(after["CollectionConfigurations"], SizeIs(1));
}

TEST_F(CheckCommand, emits_what_several_rules_need_together) {
  const std::string merged = emitted({"--rule", "WeightUpdateRatio,num_steps=50", "--rule",
                                      "TensorVariance,collection_names=weights,max_threshold=9",
                                      "--rule", "WeightUpdateRatio,num_steps=20"});
  EXPECT_EQ(collection(merged, "weights").dump(),
            R"({"save_interval":"20","reductions":"variance","save_raw_tensor":"true"})");
}

TEST_F(CheckCommand, emits_no_entry_that_the_hook_has_and_tells_what_stays_open) {
  const std::string mine =
      hook(R"({"CollectionName": "gradients", "CollectionParameters": {"reductions": "max"}})");
  const Ran ran = run({"check", mine, "--rule", "VanishingGradient", "--emit-hook-config"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(collection(write("emitted.json", ran.out), "gradients").dump(),
            R"({"reductions":"max"})");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("this stays open"),
                             HasSubstr("of the collection gradients only max is saved")));
}

TEST_F(CheckCommand, emits_the_collections_that_a_configuration_of_a_rule_has_instead) {
  const std::string rules = write("rules.json", R"([{"RuleConfigurationName": "VanishingGradient",
      "CollectionConfigurations": [{"CollectionName": "gradients",
        "CollectionParameters": {"save_interval": "3"}}]}])");
  EXPECT_EQ(collection(emitted({"--config", rules}), "gradients").dump(),
            R"({"save_interval":"3"})");
}

TEST_F(CheckCommand, is_silent_about_what_it_emits_for_every_rule) {
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical)) {
    std::string spec = rule->name;
    for (const Parameter& parameter : rule->parameters) {
      if (parameter.name == "collection_names") spec += ",collection_names=gradients";
      if (parameter.name == "max_threshold") spec += ",max_threshold=1";
      if (parameter.name == "other_trials") spec += ",other_trials=" + path();
    }
    const Ran ran = run({"check", emitted({"--rule", spec}), "--rule", spec});
    EXPECT_EQ(ran.code, kExitFine) << spec << "\n" << ran.out << ran.err;
    EXPECT_THAT(ran.out, EndsWith(": what it needs is saved\n"));
  }
}

TEST_F(CheckCommand, finds_the_names_that_a_run_has_but_for_a_configuration_of_the_reference) {
  WorkerWriter(store_)
      .save(0, {raw("relu1_output", {0, 0}), raw("tanh1_input_0", {99, 99}),
                raw("embedding_input_0", {0, 0}), raw("Net_input_0", {9}).shaped({1, 1, 1, 1})})
      .finish();
  for (const char* rule :
       {"DeadRelu", "SaturatedActivation", "NLPSequenceRatio", "CheckInputImages"}) {
    const Ran found = run({"check", path(), "--rule", rule});
    EXPECT_EQ(found.code, kExitFine) << rule << found.out;
    EXPECT_EQ(found.out, std::string(rule) + ": what it needs is saved\n");
    const std::string entry = std::string(R"([{"RuleConfigurationName": ")") + rule + "\"";
    const Ran published = run({"check", path(), "--config", write("rules.json", entry + "}]")});
    EXPECT_EQ(published.code, kExitFound) << rule;
    EXPECT_THAT(published.out, HasSubstr("the run has no tensor of names matching \".*"));
    const Ran ours = run({"check", path(), "--config",
                          write("rules.json", entry + R"(, "Definitions": "practical"}])")});
    EXPECT_EQ(ours.code, kExitFine) << ours.out << ours.err;
  }
}

TEST_F(CheckCommand, has_all_workers_save_where_there_are_several) {
  ::setenv("WORLD_SIZE", "4", 1);
  const Ran before =
      run({"check", hook(R"({"CollectionName": "gradients"})"), "--rule", "VanishingGradient"});
  const std::string merged = emitted({"--rule", "VanishingGradient"});
  const Ran after = run({"check", merged, "--rule", "VanishingGradient"});
  ::unsetenv("WORLD_SIZE");
  EXPECT_EQ(before.code, kExitFound);
  EXPECT_THAT(before.out, HasSubstr("one of 4 workers saves"));
  EXPECT_EQ(after.code, kExitFine) << after.out;
}

}  // namespace
}  // namespace cupel::testing
