#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "cupel/xgboost/watch.h"
#include "library_spy.h"

namespace cupel::testing {

inline void must(int status) {
  if (status != 0) throw std::runtime_error(XGBGetLastError());
}

// The same numbers in every program, from 0 to 1.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed) {}
  float next() {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(state_ >> 8U) / 16777216.0F;
  }

 private:
  std::uint32_t state_;
};

// What rows are labelled with.
enum class Labels { None, Binary, Real, Classes, Relevance, TwoTargets };

// Rows of features from 0 to 1, of which some are missing.
class Data {
 public:
  struct Form {
    std::size_t rows = 60;
    std::size_t features = 4;
    Labels labels = Labels::Binary;
    bool categorical = false;  // feature 0 has the categories 0 to 4
    std::uint32_t seed = 7;
  };
  explicit Data(const Form& form) : form_(form) {
    Numbers numbers(form.seed);
    for (std::size_t i = 0; i < form.rows * form.features; ++i) {
      const float number = numbers.next();
      values_.push_back(numbers.next() < 0.05F ? std::nanf("") : number);
    }
    if (form.categorical)
      for (std::size_t row = 0; row < form.rows; ++row) at(row, 0) = static_cast<float>(row % 5);
    must(XGDMatrixCreateFromMat(values_.data(), form.rows, form.features, std::nanf(""), &handle_));
    label();
    if (form.categorical) {
      std::vector<const char*> types(form.features, "q");
      types[0] = "c";
      must(XGDMatrixSetStrFeatureInfo(handle_, "feature_type", types.data(), types.size()));
    }
  }
  ~Data() { XGDMatrixFree(handle_); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  DMatrixHandle handle() const { return handle_; }
  std::size_t rows() const { return form_.rows; }
  std::size_t features() const { return form_.features; }
  const std::vector<float>& labels() const { return labels_; }

  void set_texts(const char* field, const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    must(XGDMatrixSetStrFeatureInfo(handle_, field, pointers.data(), pointers.size()));
  }

 private:
  float& at(std::size_t row, std::size_t feature) {
    return values_[row * form_.features + feature];
  }
  float known(std::size_t row, std::size_t feature) {
    const float value = at(row, feature);
    return std::isnan(value) ? 0.5F : value;
  }
  void label() {
    for (std::size_t row = 0; row < form_.rows; ++row) {
      const float score = form_.categorical ? (at(row, 0) == 2 ? 2.0F : known(row, 1))
                                            : known(row, 0) + known(row, 1) / 2;
      switch (form_.labels) {
        case Labels::None:
          return;
        case Labels::Binary:
          labels_.push_back(score > 0.75F ? 1 : 0);
          break;
        case Labels::Real:
          labels_.push_back(3 * score - known(row, 2));
          break;
        case Labels::Classes:
          labels_.push_back(score > 1 ? 2 : score > 0.6F ? 1 : 0);
          break;
        case Labels::Relevance:
          labels_.push_back(std::floor(2 * score));
          break;
        case Labels::TwoTargets:
          labels_.insert(labels_.end(), {score, known(row, 2) - score});
          break;
      }
    }
    if (form_.labels == Labels::TwoTargets) {
      const std::string array = R"({"data": [)" +
                                std::to_string(reinterpret_cast<std::uintptr_t>(labels_.data())) +
                                R"(, true], "shape": [)" + std::to_string(form_.rows) +
                                R"(, 2], "typestr": "<f4", "version": 3})";
      must(XGDMatrixSetInfoFromInterface(handle_, "label", array.c_str()));
    } else {
      must(XGDMatrixSetFloatInfo(handle_, "label", labels_.data(), labels_.size()));
    }
    if (form_.labels == Labels::Relevance) {
      const std::vector<unsigned> groups(form_.rows / 10, 10);
      must(XGDMatrixSetUIntInfo(handle_, "group", groups.data(), groups.size()));
    }
  }

  const Form form_;
  std::vector<float> values_, labels_;
  DMatrixHandle handle_ = nullptr;
};

using Parameters = std::map<std::string, std::string>;

class Model {
 public:
  Model(const Parameters& parameters, const std::vector<DMatrixHandle>& data) {
    must(XGBoosterCreate(data.data(), data.size(), &handle_));
    set("verbosity", "0");
    set("nthread", "1");
    set("max_depth", "3");
    for (const auto& [name, value] : parameters) set(name, value);
  }
  ~Model() { XGBoosterFree(handle_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  BoosterHandle handle() const { return handle_; }
  void set(const std::string& name, const std::string& value) {
    must(XGBoosterSetParam(handle_, name.c_str(), value.c_str()));
  }
  void update(int iteration, const Data& data) {
    must(XGBoosterUpdateOneIter(handle_, iteration, data.handle()));
  }
  std::string bytes() const {
    bst_ulong length = 0;
    const char* text = nullptr;
    must(XGBoosterSaveModelToBuffer(handle_, R"({"format": "json"})", &length, &text));
    return {text, length};
  }

 private:
  BoosterHandle handle_ = nullptr;
};

// A hook that writes into memory, and a training of a few iterations.
class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    set_log_sink(
        [this](LogLevel, std::string_view message) { logged_ += std::string(message) + '\n'; });
    library_spy().clear();
    options.profile = Profile::XGBoost;
    options.save_config = {.save_interval = 1};
  }
  ~WatchTest() override {
    set_log_sink({});
    library_spy().clear();
  }

  std::unique_ptr<Hook> make_hook() { return std::make_unique<Hook>(options, store); }

  // Makes data and a model of them.
  void prepare(const Parameters& parameters, const Data::Form& form = {}) {
    Data::Form held_out = form;
    held_out.seed = form.seed + 1;
    held_out.rows = form.rows / 2;
    train.emplace(form);
    validation.emplace(held_out);
    model.emplace(parameters, std::vector<DMatrixHandle>{train->handle(), validation->handle()});
  }
  void prepare_binary() { prepare({{"objective", "binary:logistic"}}); }

  // All that a watch can be given.
  xgboost::WatchOptions everything() const {
    return {.evals = {{"train", train->handle()}, {"validation", validation->handle()}},
            .train_data = train->handle(),
            .validation_data = validation->handle()};
  }

  // Trains with a watch and closes the hook.
  HookReport run(int iterations) { return run(iterations, everything()); }
  HookReport run(int iterations, xgboost::WatchOptions watched) {
    auto hook = make_hook();
    {
      xgboost::Watch watch(*hook, model->handle(), std::move(watched));
      for (int i = 0; i < iterations; ++i) {
        model->update(i, *train);
        watch.after_iteration(i);
      }
    }
    return hook->close();
  }

  std::unique_ptr<Trial> open_trial() const { return std::make_unique<Trial>(store); }
  std::vector<std::string> saved_names() const { return open_trial()->tensor_names(); }
  TensorValue value(const std::string& name, std::int64_t step) const {
    return open_trial()->tensor(name).value(step);
  }
  template <class T>
  std::vector<T> values(const std::string& name, std::int64_t step) const {
    const TensorValue found = value(name, step);
    const auto span = found.as<T>();
    return {span.begin(), span.end()};
  }
  std::vector<std::string> texts(const std::string& name, std::int64_t step) const {
    return value(name, step).strings();
  }

  HookOptions options;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::optional<Data> train, validation;
  std::optional<Model> model;
  std::string logged_;
};

}  // namespace cupel::testing
