#include "damage/damaged_run.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <utility>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;

// Asks until there is an answer, or the same complaint comes again.
template <class Question>
void ask(Reading& reading, Question&& question) {
  std::string last;
  while (true) {
    Complaint complaint;
    try {
      question();
      return;
    } catch (const FormatError& error) {
      complaint = {error.file, error.offset, error.what()};
    } catch (const StoreError& error) {
      complaint = {error.key, 0, error.what()};
    } catch (const Error& error) {
      complaint = {"", 0, error.what()};
    }
    const bool is_new = complaint.text != last;
    last = complaint.text;
    if (!is_new) return;
    reading.complaints.push_back(std::move(complaint));
  }
}

std::string text_of(const TensorRecord& record) {
  std::ostringstream out;
  out.precision(17);
  out << to_string(record.mode) << ' ' << record.mode_step << ' ' << to_string(record.dtype)
      << " n=" << record.elements << " bytes=" << record.bytes;
  if (record.shape) out << " shape=" << to_string(*record.shape);
  if (record.counts)
    out << " counts=" << record.counts->nan << ',' << record.counts->pos_inf << ','
        << record.counts->neg_inf << ',' << record.counts->zero;
  record.reductions.set.for_each(
      [&](Reduction r) { out << ' ' << to_string(r) << '=' << *record.reductions.get(r); });
  return out.str();
}

void read_tensor(const Tensor& tensor, std::int64_t step, Reading& reading) {
  std::vector<TensorRecord> records;
  ask(reading, [&] { records = tensor.records(step); });
  for (const TensorRecord& record : records) {
    const std::string what =
        std::to_string(step) + " " + tensor.name() + " " + std::string(record.worker);
    reading.answers[what] = text_of(record);
    if (!record.has_value) continue;
    ask(reading, [&] {
      const TensorValue value = tensor.value(step, Mode::Global, record.worker);
      const auto bytes = value.bytes();
      reading.answers[what + " value"] =
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
  }
}

}  // namespace

Files golden_files(const std::string& name) {
  const fs::path run = fs::path(CUPEL_GOLDEN) / "1.0" / name;
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    files[entry.path().lexically_relative(run).generic_string()].assign(bytes.begin(), bytes.end());
  }
  return files;
}

std::shared_ptr<MemoryStore> store_of(const Files& files) {
  auto store = std::make_shared<MemoryStore>();
  for (const auto& [key, bytes] : files) store->put(key, bytes);
  return store;
}

Reading read_all(const Files& files) {
  Reading reading;
  std::unique_ptr<Trial> trial;
  ask(reading, [&] { trial = std::make_unique<Trial>(store_of(files), prompt()); });
  if (!trial) return reading;
  ask(reading, [&] { reading.ended = trial->ended(); });
  ask(reading, [&] {
    for (const auto& [name, collection] : trial->collections())
      for (const std::string& tensor : collection.tensor_names())
        reading.answers["collection " + name] += tensor + "\n";
  });
  std::vector<std::int64_t> steps;
  ask(reading, [&] { steps = trial->steps(); });
  for (const std::int64_t step : steps) {
    std::vector<std::string> names;
    ask(reading, [&] {
      reading.answers["step " + std::to_string(step)] = std::string(to_string(*trial->mode(step)));
      names = trial->tensor_names({.step = step});
    });
    for (const std::string& name : names)
      ask(reading, [&] { read_tensor(trial->tensor(name), step, reading); });
  }
  return reading;
}

std::string lacking(const Reading& reading, const Reading& whole) {
  std::string text;
  for (const auto& [what, answer] : whole.answers)
    if (!reading.answers.contains(what)) text += what + "\n";
  return text;
}

std::string wrong(const Reading& reading, const Reading& whole) {
  std::string text;
  for (const auto& [what, answer] : reading.answers) {
    const auto expected = whole.answers.find(what);
    if (expected == whole.answers.end())
      text += what + " was never saved\n";
    else if (expected->second != answer)
      text += what + " is " + answer + " and was " + expected->second + "\n";
  }
  return text;
}

}  // namespace cupel::testing
