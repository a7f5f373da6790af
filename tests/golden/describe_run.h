#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "cupel/trial/trial.h"

namespace cupel {

// All that a reader can see of a run, as text that people can compare: no times, no random names.
inline std::string describe_run(const Trial& trial) {
  std::ostringstream out;
  out.precision(17);
  out << (trial.ended() ? "ended" : "not ended") << ", " << trial.num_workers() << " worker(s):";
  for (const std::string& worker : trial.workers()) out << ' ' << worker;
  out << '\n';
  for (const auto& [name, collection] : trial.collections()) {
    if (collection.tensor_names().empty()) continue;
    out << "collection " << name << ':';
    for (const std::string& tensor : collection.tensor_names()) out << ' ' << tensor;
    out << '\n';
  }
  for (const std::int64_t step : trial.steps()) {
    out << "step " << step << ' ' << to_string(*trial.mode(step)) << ' ' << *trial.mode_step(step)
        << '\n';
    for (const std::string& name : trial.tensor_names({.step = step})) {
      for (const TensorRecord& record : trial.tensor(name).records(step)) {
        out << "  " << record.worker << ' ' << name << ' ' << to_string(record.dtype)
            << " n=" << record.elements;
        if (record.shape) out << " shape=" << to_string(*record.shape);
        if (record.counts) {
          out << " nan=" << record.counts->nan << " inf=" << record.counts->pos_inf
              << " -inf=" << record.counts->neg_inf << " zero=" << record.counts->zero;
        }
        record.reductions.set.for_each(
            [&](Reduction r) { out << ' ' << to_string(r) << '=' << *record.reductions.get(r); });
        if (record.has_value) {
          const TensorValue value = trial.tensor(name).value(step, Mode::Global, record.worker);
          out << " value=";
          if (value.dtype() == DType::Utf8) {
            for (const std::string& text : value.strings()) out << '"' << text << '"';
          } else {
            for (std::int64_t i = 0; i < value.elements(); ++i)
              out << (i == 0 ? "" : ",") << value.at(i);
          }
        }
        out << '\n';
      }
    }
  }
  return out.str();
}

}  // namespace cupel
