#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cupel/core/mode.h"
#include "cupel/core/tensor_view.h"

namespace cupel::writer_detail {

/// Writes losses and metrics for a service that reads SAGEMAKER_METRICS_DIRECTORY: one line of
/// JSON per save in the file `<process id>.json` of that directory.
///
///     {"MetricName":"loss_TRAIN","Value":0.71,"Timestamp":1700000000.25,"IterationNumber":12}
///
/// `Value` is the mean of the tensor's value, or "NaN", "Infinity" or "-Infinity"; `Timestamp` are
/// seconds since 1970. Lines wait in memory until flush(), so that a save does no writing. A
/// failure to write is one warning, after which nothing more is logged. All functions may be called
/// from several threads at once.
class MetricLog {
 public:
  /// Nothing where SAGEMAKER_METRICS_DIRECTORY is unset or empty.
  static std::unique_ptr<MetricLog> from_environment();

  /// The directory is created, and the file opened for appending, by the first flush() of a line.
  explicit MetricLog(std::string directory);
  ~MetricLog();  ///< Flushes.
  MetricLog(const MetricLog&) = delete;
  MetricLog& operator=(const MetricLog&) = delete;

  /// The collections whose tensors are logged.
  static constexpr std::array<std::string_view, 3> kLoggedCollections = {"losses", "metrics",
                                                                         "sm_metrics"};

  /// Adds the line `<tensor>_<MODE>`. A view that cannot be saved, or of text, is passed over. Of
  /// lines that nobody flushes, those beyond some 16 MiB are a failure to write.
  void add(std::string_view tensor, Mode mode, std::int64_t step, const TensorView& value) noexcept;

  /// Writes the lines that wait. Call it at step ends and at close.
  void flush() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::writer_detail
