// Input images are not centered: the mean of a colour channel over many images is too far from 0.
//
// Of each tensor and mode, the images of all steps and workers are gathered until there are
// threshold_samples; then each channel is judged, and the next ones are gathered. How many images a
// batch has is in the index, so that earlier steps are known without their values; those are read
// when the first step behind them is judged, if they still count.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "builtin_table.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/preferred_selection.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/run_memory.h"
#include "cupel/rules/tensor_copy.h"
#include "elements.h"
#include "plain_reductions.h"
#include "tensor_selection.h"
#include "usual_names.h"

namespace cupel::rules_detail {
namespace {

constexpr int kMostAxes = Shape::kMaxRank;

// The elements of a channel, or of whole tensors.
struct Channel {
  double sum = 0;
  double elements = 0;

  double mean() const noexcept { return sum / elements; }
};

// One copy of a batch.
struct Batch {
  std::int64_t step = 0;
  std::string_view worker;
  std::int64_t elements = 0;
  std::int64_t images = 0;
  std::optional<std::size_t> axis = std::nullopt;  // of the channels, where the shape has it
  std::int64_t channels = 1;
  bool has_value = false;
  std::optional<double> mean = std::nullopt;
};

// The images gathered so far.
struct Gathered {
  std::int64_t last_step = -1;
  std::int64_t images = 0;
  std::vector<Batch> unread;
  std::vector<Channel> channels;
  Channel whole;             // of tensors without channels, or of which only the mean was saved
  bool approximate = false;  // there is one that has channels in the whole
};

std::string images_text(std::int64_t images) {
  return std::to_string(images) + (images == 1 ? " image" : " images");
}

class CheckInputImages final : public Rule {
 public:
  struct Options {
    PreferredNames names;
    double most = 0;
    std::int64_t samples = 0;
    std::int64_t channel = 0;
    bool finds_channel = false;  // of the fallbacks, because the user gave none
  };

  static RuleDefinition definition(Definitions edition) {
    return define_rule<CheckInputImages>(
        {.name = "CheckInputImages",
         .edition = edition,
         .summary = "input images are not centered at 0",
         .description =
             R"(
The rule gathers the images of a tensor over steps and workers, separately for each mode. Once there
are threshold_samples images,

    |sum of a channel / its elements| > threshold_mean

fires for each channel, strictly. Then the rule starts over with the next step. Until there are
enough images, it explains how many it has.

Axis 0 is the batch, and each position on the axis `channel` is a colour channel. A negative channel
counts from the last axis; channel=0 makes the whole tensor one image. Where the shape has no such
axis, the rule judges the mean of all elements. A channel with NaN does not fire, one with an
infinity does. Text and empty tensors are skipped.

The rule reads raw values, every element once. The index is enough for images with one channel, and
where only the mean was saved. For images of several channels that mean covers all channels, and the
message contains "approximate". Typically the rule finds images that are scaled to the range 0 to 1
and not centered: their mean is about 0.5.
)" + usual_names_page(edition, R"(
tensors of at least four axes: those called images or pixel_values; without those, the input of the
network, such as Net_input_0 or model_input; without those, the input of the first convolution, such
as conv1_input_0. Where channel is not given, the channels of these tensors are on the last axis if
it has at most 4 positions and axis 1 has more)"),
         .example = "CheckInputImages,regex=^input_images$,threshold_samples=1000"},
        {option(&Options::most,
                {.name = "threshold_mean",
                 .default_text = "0.2",
                 .range = {.least = 0},
                 .help = "fires when the magnitude of a channel's mean is above this (>= 0)"}),
         option(&Options::samples, {.name = "threshold_samples",
                                    .default_text = "500",
                                    .range = {.least = 1},
                                    .help = "judges as soon as there are so many images (>= 1)"}),
         preferred_names(&Options::names,
                         {.name = "regex",
                          .default_text = ".*hybridsequential0_input_0",
                          .help = "patterns searched in the names of tensors; where they are "
                                  "given, no other names count"},
                         input_images(edition)),
         option(
             &Options::channel,
             {.name = "channel",
              .default_text = "1",
              .range = {.least = -kMostAxes},
              .help =
                  "the axis of the colour channels; negative: from the end; 0: the tensor is one "
                  "image; axis 0 is the batch else"})});
  }

  static void check(Options& options, const ParameterValues& values,
                    ParameterMistakes& /*mistakes*/) {
    options.finds_channel = !values.is_given("channel");
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need{.tensors = needed_tensors(options.names, "regex", "input_image"),
                    .suffices = {TensorSource::value()}};
    for (TensorSource source : sources_of(kMean)) {
      if (source.kind != TensorSource::Kind::Reductions) continue;
      source.shape = true;
      need.suffices.push_back(source);
    }
    return {{std::move(need)}};
  }

  CheckInputImages(Trial& base, const Options& options)
      : Rule(base), options_(options), names_(needs(options).tensors.front().tensors) {}

  Verdict invoke_at_step(std::int64_t step) override {
    if (names_.choose(step, base_trial())) memory_.start_over();
    memory_.bring_before(
        step, base_trial(), names_.names(), [this] { gathered_.clear(); },
        [this](const RecordView& record) {
          if (!names_.counts(record)) return;
          Verdict unheard;
          TensorCopy copy(*this, record, unheard);
          gather(copy);
        });
    Verdict verdict;
    const std::string* tensor = nullptr;
    Mode mode = Mode::Global;
    std::string_view worker;
    const auto finish = [&] {
      if (tensor != nullptr) judge(*tensor, worker, gathered_[{tensor, mode}], verdict);
    };
    std::size_t selected = 0;
    base_trial().visit_step(step, names_.names(), [&](const RecordView& record) {
      if (!names_.counts(record)) return;
      ++selected;
      TensorCopy copy(*this, record, verdict);
      if (tensor != &record.tensor()) {
        finish();
        tensor = nullptr;
      }
      if (!gather(copy)) return;
      if (tensor == nullptr) worker = record.worker();
      tensor = &record.tensor();
      mode = record.mode();
      read_all(*tensor, gathered_[{tensor, mode}], copy);
    });
    finish();
    if (selected == 0)
      verdict.not_applicable("nothing of " + names_.description() + " was saved at this step");
    return verdict;
  }

 private:
  std::optional<Batch> batch_of(TensorCopy& copy) const {
    if (!copy.has_numbers()) return std::nullopt;
    const RecordView& record = copy.record();
    Batch batch{.step = record.step(),
                .worker = record.worker(),
                .elements = record.elements(),
                .has_value = record.has_value()};
    if (const auto mean = saved_number(record, kMean)) batch.mean = mean->value;
    const std::optional<Shape> shape = record.record().shape;
    if (!shape || (!batch.has_value && !batch.mean)) {
      copy.skip("neither the raw value nor mean and shape were saved");
      return std::nullopt;
    }
    const auto rank = static_cast<std::int64_t>(shape->rank());
    const std::int64_t axis = axis_of_channels(*shape);
    if (axis >= 0 && axis < rank) {
      batch.axis = static_cast<std::size_t>(axis);
      batch.channels = (*shape)[*batch.axis];
    }
    batch.images = axis == 0 || rank == 0 ? 1 : (*shape)[0];
    return batch;
  }

  // Names that the user did not choose come from frameworks of both layouts.
  std::int64_t axis_of_channels(const Shape& shape) const {
    constexpr std::int64_t kMostColours = 4;
    const auto rank = static_cast<std::int64_t>(shape.rank());
    if (names_.is_fallback() && options_.finds_channel && shape[1] > kMostColours &&
        shape[shape.rank() - 1] <= kMostColours)
      return rank - 1;
    return options_.channel < 0 ? rank + options_.channel : options_.channel;
  }

  // Takes in a copy, as the index has it; false if it cannot be used. Images that were judged at an
  // earlier step count no longer.
  bool gather(TensorCopy& copy) {
    std::optional<Batch> batch = batch_of(copy);
    if (!batch) return false;
    Gathered& gathered = gathered_[{&copy.record().tensor(), copy.record().mode()}];
    if (gathered.images >= options_.samples && gathered.last_step != batch->step) gathered = {};
    gathered.last_step = batch->step;
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    gathered.images += std::min(batch->images, kMost - gathered.images);
    gathered.unread.push_back(*std::move(batch));
    return true;
  }

  // Reads the batches that were not read yet. A failure, and NaN, is reported for `copy` only.
  void read_all(const std::string& tensor, Gathered& gathered, TensorCopy& copy) const {
    for (const Batch& batch : std::exchange(gathered.unread, {})) {
      const bool is_copy =
          batch.step == copy.record().step() && batch.worker == copy.record().worker();
      try {
        read(tensor, batch, gathered, is_copy ? &copy : nullptr);
      } catch (const TensorUnavailableForStep& error) {
        if (is_copy) copy.skip(error.what());
      } catch (const DamagedValue& damage) {
        copy.skip(damage.what(), true);
      }
    }
  }

  void read(const std::string& tensor, const Batch& batch, Gathered& into, TensorCopy* copy) const {
    const bool one_channel = batch.axis && batch.channels == 1;
    if (batch.mean && (one_channel || !batch.axis || !batch.has_value)) {
      if (one_channel && into.channels.empty()) into.channels.resize(1);
      if (copy != nullptr) copy->saw(*batch.mean);
      Channel& channel = one_channel ? into.channels.front() : into.whole;
      channel.sum += *batch.mean * static_cast<double>(batch.elements);
      channel.elements += static_cast<double>(batch.elements);
      into.approximate |= batch.channels > 1;
      return;
    }
    const TensorValue value =
        base_trial().tensor(tensor).value(batch.step, Mode::Global, batch.worker);
    if (copy != nullptr) copy->saw(value);
    if (!batch.axis) return add_whole(value, into.whole);
    if (static_cast<std::size_t>(batch.channels) > into.channels.size())
      into.channels.resize(static_cast<std::size_t>(batch.channels));
    add_channels(value, *batch.axis, into.channels);
  }

  static void add_whole(const TensorValue& value, Channel& whole) {
    for_each_span(value, [&](std::span<const double> elements, std::size_t) {
      for (const double element : elements) whole.sum += element;
      return true;
    });
    whole.elements += static_cast<double>(value.elements());
  }

  static void add_channels(const TensorValue& value, std::size_t axis,
                           std::vector<Channel>& channels) {
    const auto count = static_cast<std::size_t>(value.shape()[axis]);
    std::size_t run = 1;  // so many elements of a channel lie one after another
    for (std::size_t i = axis + 1; i < value.shape().rank(); ++i)
      run *= static_cast<std::size_t>(value.shape()[i]);
    std::size_t channel = 0;
    std::size_t in_run = 0;
    for_each_span(value, [&](std::span<const double> elements, std::size_t) {
      for (const double element : elements) {
        channels[channel].sum += element;
        if (++in_run < run) continue;
        in_run = 0;
        if (++channel == count) channel = 0;
      }
      return true;
    });
    const double each = static_cast<double>(value.elements()) / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) channels[i].elements += each;
  }

  void judge(const std::string& tensor, std::string_view worker, const Gathered& gathered,
             Verdict& verdict) const {
    if (gathered.images < options_.samples) {
      verdict.count(1);
      if (explaining())
        verdict.observe(
            {.tensor = tensor,
             .worker = std::string(worker),
             .read = "images",
             .compared = std::to_string(gathered.images) + " of " + images_text(options_.samples),
             .fired = false});
      return;
    }
    const auto report = [&](const Channel& channel, const std::string& what) {
      if (channel.elements == 0) return;
      verdict.count(1);
      const double mean = channel.mean();
      const bool fired = std::abs(mean) > options_.most;
      if (!fired && !explaining()) return;
      const std::string compared = comparison_text(std::abs(mean), ">", options_.most);
      if (explaining())
        verdict.observe({.tensor = tensor,
                         .worker = std::string(worker),
                         .read = what,
                         .compared = compared,
                         .fired = fired});
      if (fired)
        verdict.add({.tensor = tensor,
                     .worker = std::string(worker),
                     .value = std::abs(mean),
                     .threshold = options_.most,
                     .message = what + " " + short_text(mean) + ", magnitude " + compared +
                                " over " + images_text(gathered.images)});
    };
    for (std::size_t i = 0; i < gathered.channels.size(); ++i)
      report(gathered.channels[i], "mean of channel " + std::to_string(i));
    report(gathered.whole, gathered.approximate
                               ? "mean of all channels (approximate)"
                               : "mean (no axis " + std::to_string(options_.channel) + ")");
  }

  Options options_;
  PreferredSelection names_;
  RunMemory memory_;
  std::map<std::pair<const std::string*, Mode>, Gathered> gathered_;
};

}  // namespace

RuleDefinition check_input_images(Definitions edition) {
  return CheckInputImages::definition(edition);
}

}  // namespace cupel::rules_detail
