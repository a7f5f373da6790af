#include "run_cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

#include "build_info.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "cupel/core/printable.h"
#include "demo.h"
#include "manual_page.h"
#include "missing_run.h"
#include "plot.h"
#include "terminal.h"
#include "word_completion.h"

namespace cupel {
namespace {

constexpr const char* kTrialHelp = "the run: its directory";

constexpr std::uint64_t kGreatest = std::numeric_limits<std::int64_t>::max();

// Takes a decimal number in a range, and says so of anything else.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = kGreatest) {
  const auto read = [least, most](std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error == std::errc() && end == last && number >= least && number <= most) {
      text = std::to_string(number);  // without zeros before it, which would make it octal
      return {};
    }
    return "takes a whole number " +
           (most < kGreatest ? "from " + std::to_string(least) + " to " + std::to_string(most)
                             : "of at least " + std::to_string(least)) +
           ", not \"" + printable(text) + '"';
  };
  return CLI::Validator(read, "");
}

// The whole command line, with the options it fills in.
class CommandLine {
 public:
  CommandLine(Printer out, Printer err) : out_(out), err_(err) {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", version_line());
    app_.footer(
        "examples\n"
        "  cupel demo                                    see it work\n"
        "  cupel watch runs/mnist --rule VanishingGradient --rule ExplodingTensor\n"
        "  cupel info runs/mnist\n"
        "  cupel COMMAND --help                          options and examples of a command\n\n"
        "exit codes: 0 fine; 1 a rule's condition was met or cannot be, or runs differ;\n"
        "            2 an error, or something asked for by name is not there;\n"
        "            130 interrupted by a signal (Ctrl-C)");
    add_demo();
    add_info();
    add_steps();
    add_tensors();
    add_show();
    add_diff();
    add_watch();
    add_check();
    add_rules();
    add_verify();
    add_copy();
    add_sync();
    add_completion();
    add_help();
  }

  int run(const std::vector<std::string>& arguments) {
    if (complete(arguments)) return written(kExitFine);
    if (const int code = refuse_unknown_command(arguments); code != kExitFine) return code;
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
      app_.parse(reversed);
    } catch (const CLI::Success& answer) {  // help and version
      std::ostringstream text;
      const int code = app_.exit(answer, text, text);
      out_ << Composed{text.str()};
      return code == 0 ? written(kExitFine) : kExitError;
    } catch (const CLI::ParseError& error) {
      return refuse(error);
    }
    return run_command();
  }

 private:
  CLI::App* add_command(const std::string& name, const std::string& summary,
                        const std::string& examples, std::function<int()> command) {
    CLI::App* app = app_.add_subcommand(name, summary);
    app->footer("examples\n" + examples);
    app->final_callback([this, name, command = std::move(command)] {
      command_name_ = name;
      command_ = command;
    });
    return app;
  }

  void add_demo() {
    CLI::App* app =
        add_command("demo", "Train three small networks and judge them while they train",
                    "  cupel demo\n  cupel demo /tmp/demo --seed 7",
                    [this] { return run_demo(demo_, out_, err_); });
    app->add_option("DIR", demo_.directory, "where the runs go")->capture_default_str();
    app->add_option("--seed", demo_.seed, "all that is random follows from it")
        ->capture_default_str()
        ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  }

  void add_info() {
    CLI::App* app = add_command("info", "What a run holds, and whether it goes on",
                                "  cupel info runs/mnist\n  cupel info runs/mnist --json\n"
                                "  cupel info --build",
                                [this] { return run_info(info_, out_); });
    app->add_option("TRIAL", info_.trial, kTrialHelp);
    app->add_flag("--build", info_.build, "what is built into this command, in place of a run")
        ->excludes(app->get_option("TRIAL"));
    add_json(app, info_.json, "one JSON object");
  }

  void add_steps() {
    CLI::App* app = add_command("steps", "List the saved steps",
                                "  cupel steps runs/mnist\n  cupel steps runs/mnist --mode EVAL",
                                [this] { return run_steps(steps_, out_); });
    app->add_option("TRIAL", steps_.trial, kTrialHelp)->required();
    app->add_option("--tensor", steps_.tensor, "only those at which this tensor was saved");
    add_mode(app, steps_.mode);
    add_json(app, steps_.json, "a JSON array of numbers");
  }

  void add_tensors() {
    CLI::App* app = add_command("tensors", "List the names of tensors",
                                "  cupel tensors runs/mnist\n"
                                "  cupel tensors runs/mnist --step 10 --collection gradients\n"
                                "  cupel tensors runs/mnist --regex 'fc1|fc2' --long",
                                [this] { return run_tensors(tensors_, out_); });
    app->add_option("TRIAL", tensors_.trial, kTrialHelp)->required();
    add_mode(app, tensors_.mode);
    app->add_option("--step", tensors_.step, "only those saved at this step")
        ->transform(whole_number(0));
    app->add_option("--collection", tensors_.collection, "only those of a collection");
    app->add_option("--regex", tensors_.regex, "only those whose names hold a match");
    app->add_flag("-l,--long", tensors_.in_full, "with dtype, shape, steps and what was saved");
    add_json(app, tensors_.json, "a JSON array of names; with --long of objects");
  }

  void add_show() {
    CLI::App* app = add_command("show", "Show a tensor: all its saved steps, or its value at one",
                                "  cupel show runs/mnist loss --plot\n"
                                "  cupel show runs/mnist fc1.weight --step 10\n"
                                "  cupel show runs/mnist fc1.weight --reduction abs_mean --plot\n"
                                "  cupel show runs/mnist fc1.weight --histogram --last 10\n"
                                "  cupel show runs/mnist fc1.weight --step 10 --npy fc1.npy",
                                [this] { return run_show(show_, out_, err_); });
    app->add_option("TRIAL", show_.trial, kTrialHelp)->required();
    app->add_option("TENSOR", show_.tensor, "the tensor's name")->required();
    app->add_option("--step", show_.step, "the step; default: every saved one, a line each")
        ->transform(whole_number(0));
    app->add_option("--start-step", show_.start_step, "only steps from this one on")
        ->transform(whole_number(0));
    app->add_option("--end-step", show_.end_step, "only steps before this one")
        ->transform(whole_number(0));
    app->add_option("--last", show_.last, "only so many saved steps, the last ones")
        ->transform(whole_number(1));
    add_mode(app, show_.mode);
    app->add_option("--worker", show_.worker, "who saved it; default: the first by name");
    app->add_option("--reduction", show_.reductions,
                    "a number instead: mean, abs_max, l2 …; saved, else from the value; may be "
                    "given many times")
        ->allow_extra_args(false);
    app->add_flag("--plot", show_.plot, "draw the scalar or the reductions over the steps");
    app->add_flag("--log", show_.log, "--plot: a logarithmic scale");
    app->add_flag("--histogram", show_.histogram, "how the values are spread at each step");
    app->add_option("--width", show_.width,
                    "columns that what is drawn may take; default: those of the terminal, else 80")
        ->transform(whole_number(kLeastPlotWidth, 1000));
    app->add_option("--npy", show_.npy,
                    "write the value to this NumPy file instead; of a range, one array");
    add_json(app, show_.json, "one JSON object per step, values as nested lists");
  }

  void add_diff() {
    CLI::App* app =
        add_command("diff", "Find the first step and tensor at which two runs part",
                    "  cupel diff runs/before runs/after\n"
                    "  cupel diff runs/before runs/after --rtol 1e-5 --atol 1e-8\n"
                    "  cupel diff runs/before runs/after --collection weights --limit 10",
                    [this] { return run_diff(diff_, out_); });
    app->add_option("RUN_A", diff_.run_a, "one run: its directory")->required();
    app->add_option("RUN_B", diff_.run_b, "the other")->required();
    app->add_option("--rtol", diff_.rtol,
                    "floats a, b are the same if |a - b| <= atol + rtol * max(|a|, |b|)")
        ->capture_default_str();
    app->add_option("--atol", diff_.atol, "see --rtol")->capture_default_str();
    add_mode(app, diff_.mode);
    app->add_option("--collection", diff_.collection, "only tensors of a collection");
    app->add_option("--regex", diff_.regex, "only tensors whose names hold a match");
    app->add_option("--start-step", diff_.start_step, "the first global step to compare")
        ->transform(whole_number(0))
        ->capture_default_str();
    app->add_option("--end-step", diff_.end_step, "the global step to end before")
        ->transform(whole_number(0));
    app->add_option("--limit", diff_.limit, "how many differences to look for; 0: all")
        ->transform(whole_number(0))
        ->capture_default_str();
    app->add_flag("--full", diff_.full, "read values whose checksums and statistics agree, too");
    add_json(app, diff_.json, "one JSON object");
  }

  void add_watch() {
    CLI::App* app = add_command(
        "watch", "Evaluate rules over a run while it grows, until it ends",
        "  cupel watch runs/mnist\n"
        "  cupel watch runs/mnist --rule VanishingGradient --strict\n"
        "  cupel watch runs/mnist --rule ExplodingTensor,only_nan=True --first --json\n"
        "  cupel watch runs/mnist --rule VanishingGradient,threshold=1e-6 --no-wait --explain",
        [this] { return run_watch(watch_, out_, err_); });
    app->add_option("TRIAL", watch_.trial, "the run: its directory, there already or not")
        ->required();
    add_rule_choice(app, watch_.rules);
    app->add_flag("--no-wait", watch_.no_wait, "judge what is there now; without a run: error");
    app->add_flag("--first", watch_.first, "a rule ends at its first firing");
    app->add_flag("--all", watch_.all, "print every finding, not where incidents begin and end");
    app->add_flag(
        "--strict", watch_.strict,
        "exit with 1 also where a rule that was named, or every rule, had nothing to judge");
    app->add_flag("--explain", watch_.explain,
                  "show at every step what each rule selected, read and compared");
    app->add_option("--idle-timeout", watch_.idle_timeout,
                    "end after so many seconds without a run or a new step")
        ->type_name("SECONDS");
    app->add_flag("--until-writer-gone", watch_.until_writer_gone,
                  "end as soon as no process writes the run any more, as at its end");
    app->add_option("--start-step", watch_.start_step, "the first global step to judge")
        ->capture_default_str()
        ->transform(whole_number(0));
    app->add_option("--end-step", watch_.end_step, "the global step to end before")
        ->transform(whole_number(0));
    app->add_option("--wait-window", watch_.wait_window,
                    "how many saved steps may wait for slow workers; default: any number")
        ->type_name("STEPS")
        ->transform(whole_number(1));
    app->add_option("--out", watch_.out,
                    "keep the lines in FILE, which may be s3://bucket/name, too; a restart with it "
                    "goes on where this one stopped")
        ->type_name("FILE");
    app->add_option(
           "--action", watch_.actions,
           "stop, signal:PID[:SIGNAL], exec:COMMAND or webhook:URL, carried out when a rule "
           "begins to fire; may be given many times")
        ->type_name("ACTION")
        ->allow_extra_args(false);
    app->add_flag("--dry-run", watch_.dry_run, "say what actions would be carried out, do nothing");
    app->add_option("--webhook-ca", watch_.webhook_ca,
                    "trust the certificates in FILE (PEM) for webhooks, in place of the system's; "
                    "default: the file in SSL_CERT_FILE")
        ->type_name("FILE");
    app->add_option("--jobs", watch_.jobs, "threads that evaluate; the lines do not depend on it")
        ->transform(whole_number(1, 1000));
    add_json(app, watch_.json, "JSON lines");
  }

  void add_check() {
    CLI::App* app = add_command(
        "check", "Whether what is saved, or will be, is what rules need",
        "  cupel check hook.json --rule VanishingGradient --rule WeightUpdateRatio,num_steps=50\n"
        "  cupel check runs/mnist --rule VanishingGradient\n"
        "  cupel check hook.json --config rules.json --emit-hook-config > merged.json",
        [this] { return run_check(check_, out_, err_); });
    app->add_option("TRIAL|HOOK.json", check_.target,
                    "a run: its directory; or the file of a hook's configuration");
    add_rule_choice(app, check_.rules);
    app->add_option("--profile", check_.profile,
                    "whose tensor names the built-in collections of the hook know: generic, "
                    "pytorch, mxnet, tensorflow or xgboost")
        ->capture_default_str();
    app->add_flag("--emit-hook-config", check_.emit_hook_config,
                  "print HOOK.json, or an empty one, with the collections that the rules need");
    add_json(app, check_.json, "a JSON array of the gaps");
  }

  void add_rules() {
    CLI::App* app =
        add_command("rules", "List the built-in rules, describe one, or begin one in Lua",
                    "  cupel rules\n  cupel rules VanishingGradient\n"
                    "  cupel rules --new MyRule > my_rule.lua\n  cupel rules my_rule.lua",
                    [this] { return run_rules(rules_, out_); });
    app->add_option("NAME", rules_.name,
                    "the rule to describe, in either form of its name, or FILE.lua[:NAME]");
    app->add_option("--new", rules_.new_rule,
                    "write the beginning of a rule in Lua, to the standard output, or to a file "
                    "if the name ends in .lua")
        ->type_name("NAME")
        ->excludes(app->get_option("NAME"));
    add_json(app, rules_.json, "a JSON array; with NAME an object");
    app->add_option("--markdown", rules_.markdown,
                    "write a page of each rule, and README.md, which lists them, to DIR")
        ->type_name("DIR")
        ->excludes(app->get_option("NAME"))
        ->excludes(app->get_option("--json"));
  }

  void add_verify() {
    CLI::App* app = add_command("verify", "Read all of a run again and check it",
                                "  cupel verify runs/mnist\n  cupel verify runs/mnist --json",
                                [this] { return run_verify(verify_, out_, err_); });
    app->add_option("TRIAL", verify_.trial, kTrialHelp)->required();
    add_json(app, verify_.json, "one JSON object");
  }

  void add_copy() {
    CLI::App* app = add_command("copy", "Copy a run, also one that is being written",
                                "  cupel copy runs/mnist backup/mnist\n"
                                "  cupel copy runs/mnist backup/mnist --json",
                                [this] { return run_copy(copy_, out_, err_); });
    app->add_option("SRC", copy_.source, kTrialHelp)->required();
    app->add_option("DST", copy_.destination, "where it goes: a directory that is empty or absent")
        ->required();
    add_json(app, copy_.json, "one JSON object");
  }

  void add_sync() {
    CLI::App* app =
        add_command("sync", "Seal and upload what an interrupted process left",
                    "  cupel sync runs/mnist\n  cupel sync ~/.local/state/cupel/spool\n"
                    "  cupel sync ~/.local/state/cupel/spool/3f1c09d2a7b4e856/worker_0 --json\n"
                    "  cupel sync runs/bitten --salvage runs/whole",
                    [this] { return run_sync(sync_, out_, err_); });
    app->add_option("DIR|SPOOL", sync_.path,
                    "a run's directory; a spool, or a directory with spools in it")
        ->required();
    app->add_option("--idle-timeout", sync_.idle_timeout,
                    "give up when requests have failed for so many seconds")
        ->capture_default_str()
        ->type_name("SECONDS")
        ->transform(whole_number(0, 1'000'000));
    app->add_option("--salvage", sync_.salvage,
                    "leave the run DIR as it is, and write what is whole of it to DST, a "
                    "directory that is empty or not there")
        ->type_name("DST");
    add_json(app, sync_.json, "one JSON object");
  }

  void add_completion() {
    CLI::App* app = add_command("completion",
                                "Print the script with which a shell completes commands and names",
                                "  source <(cupel completion bash)\n"
                                "  cupel completion zsh > ~/.zfunc/_cupel\n"
                                "  cupel completion fish > ~/.config/fish/completions/cupel.fish",
                                [this] {
                                  print_completion_script(shell_, out_);
                                  return kExitFine;
                                });
    app->add_option("SHELL", shell_, "bash, zsh or fish")->required();
  }

  void add_help() {
    CLI::App* app = add_command(
        "help", "Show the help of a command", "  cupel help\n  cupel help watch", [this] {
          if (manual_) {
            print_manual_page(app_, out_);
            return kExitFine;
          }
          const std::string option = "--help";
          return help_.empty() ? CommandLine(out_, err_).run({option})
                               : CommandLine(out_, err_).run({help_, option});
        });
    app->add_option("COMMAND", help_, "the command; without one, all are listed");
    app->add_flag("--manual", manual_, "print the manual page cupel(1), in troff")
        ->excludes(app->get_option("COMMAND"));
  }

  // Whether a script of `cupel completion` asks for words: it gets them, whatever they look like.
  bool complete(const std::vector<std::string>& arguments) {
    if (arguments.size() < 2 || arguments[0] != "completion") return false;
    std::vector<std::string> words;
    if (arguments[1] == "--words") {
      words = complete_words(app_, {arguments.begin() + 2, arguments.end()});
    } else if (arguments[1] == "--line" && arguments.size() == 4) {
      words = complete_bash_line(app_, arguments[2], arguments[3]);
    } else {
      return false;
    }
    for (const std::string& word : words) out_ << word << '\n';
    return true;
  }

  static void add_json(CLI::App* app, bool& json, const std::string& shape) {
    app->add_flag("--json", json, "print " + shape);
  }
  static void add_rule_choice(CLI::App* app, RuleChoice& choice) {
    app->add_option(
           "--rule", choice.specs,
           "NAME[,param=value…] or FILE.lua[:NAME][,param=value…]; may be given many times "
           "(see cupel rules); all: every built-in rule that needs no parameter")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    app->add_option("--config", choice.config, "a file of DebugRuleConfigurations")
        ->type_name("FILE");
    app->add_option("--script-limits", choice.script_limits,
                    "what a rule in Lua may use, memory=64,time=1,instructions=1e7: MiB, and "
                    "seconds and instructions of each call")
        ->type_name("LIMITS");
  }
  static void add_mode(CLI::App* app, std::string& mode) {
    app->add_option("--mode", mode, "TRAIN, EVAL, PREDICT or GLOBAL (all)")->capture_default_str();
  }

  int refuse_unknown_command(const std::vector<std::string>& arguments) {
    std::vector<std::string> names;
    for (const CLI::App* command : app_.get_subcommands({})) names.push_back(command->get_name());
    if (arguments.empty()) {
      err_ << "cupel: which command?" << commands_text(names) << '\n';
      return kExitError;
    }
    const std::string& first = arguments.front();
    if (first.starts_with('-') || std::find(names.begin(), names.end(), first) != names.end())
      return kExitFine;
    const std::string question = did_you_mean(first, names);
    err_ << "cupel: unknown command \"" << printable(first) << '"'
         << (question.empty() ? ";" + commands_text(names) : question) << '\n';
    return kExitError;
  }

  static std::string commands_text(const std::vector<std::string>& names) {
    std::string text = " the commands are";
    for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? " " : ", ") + names[i];
    return text + " (cupel --help)";
  }

  // Says what is wrong with the command line. An option nobody knows is the likelier cause of
  // whatever else is missing.
  int refuse(const CLI::ParseError& error) {
    const auto chosen = app_.get_subcommands();
    const CLI::App& app = chosen.empty() ? app_ : *chosen.front();
    const std::string name = chosen.empty() ? "cupel" : "cupel " + app.get_name();
    err_ << name << ": ";
    const std::vector<std::string> rest = app.remaining();
    const auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& text) {
      return text.size() > 1 && text.starts_with('-');
    });
    if (option != rest.end()) {
      const std::string given = option->substr(0, option->find('='));
      err_ << "unknown option " << printable(given) << did_you_mean(given, option_names(app));
    } else if (!rest.empty()) {
      err_ << "unexpected argument \"" << printable(rest.front()) << '"';
      if (app.get_name() == "watch" || app.get_name() == "check")
        err_ << "; each rule takes a --rule of its own";
    } else {
      err_ << printable(error.what());
    }
    err_ << "\n" << name << " --help shows what it takes\n";
    return kExitError;
  }

  static std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
  }

  int run_command() {
    // What programs read is neither broken nor coloured; nor is what is kept in a file.
    for (const char* const name : {"--json", "--new", "--emit-hook-config"}) {
      const CLI::Option* const option = app_.get_subcommands().front()->get_option_no_throw(name);
      if (option != nullptr && option->count() > 0) set_terminal(out_, {});
    }
    try {
      const int code = command_();
      return written(code);
    } catch (const MissingCollectionFiles& error) {
      out_.flush();
      print_error(missing_run_text(error));
    } catch (const std::exception& error) {
      out_.flush();
      print_error(error.what());
    }
    return kExitError;
  }

  // `code`, unless a part of the output could not be written.
  int written(int code) {
    out_.flush();
    if (out_.is_good()) return code;
    err_ << (command_name_.empty() ? "cupel" : "cupel " + command_name_)
         << ": the results could not be written\n";
    return kExitError;
  }

  void print_error(const std::string& message) {
    std::size_t begin = 0;
    while (begin <= message.size()) {
      const std::size_t end = std::min(message.find('\n', begin), message.size());
      err_ << "cupel " << command_name_ << ": "
           << printable(std::string_view(message).substr(begin, end - begin), kMostMessageBytes)
           << '\n';
      begin = end + 1;
    }
  }

  Printer out_;
  Printer err_;
  CLI::App app_{"cupel: judges training runs by rules, while they run or afterwards", "cupel"};
  std::string command_name_;
  std::function<int()> command_;
  DemoOptions demo_;
  InfoOptions info_;
  StepsOptions steps_;
  TensorsOptions tensors_;
  ShowOptions show_;
  DiffOptions diff_;
  WatchOptions watch_;
  CheckOptions check_;
  RulesOptions rules_;
  VerifyCommandOptions verify_;
  CopyCommandOptions copy_;
  SyncOptions sync_;
  std::string shell_;
  std::string help_;  // the command that help is asked for
  bool manual_ = false;
};

}  // namespace

int run_cli(const std::vector<std::string>& arguments, Printer out, Printer err) {
  try {
    return CommandLine(out, err).run(arguments);
  } catch (const std::exception& error) {
    err << "cupel: " << printable(error.what()) << '\n';
    return kExitError;
  }
}

}  // namespace cupel
