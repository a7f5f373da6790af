// Trains boosted trees by XGBoost's C API, and saves what rules need to judge them.
//
// usage: xgboost_train [DIR [ROUNDS]]   runs/boost and 60 rounds if not given

#include <xgboost/c_api.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/writer/hook.h"
#include "cupel/xgboost/watch.h"

namespace {

void check(int status) {
  if (status != 0) throw std::runtime_error(XGBGetLastError());
}

struct FreeData {
  void operator()(DMatrixHandle data) const { XGDMatrixFree(data); }
};
struct FreeBooster {
  void operator()(BoosterHandle booster) const { XGBoosterFree(booster); }
};
using Data = std::unique_ptr<void, FreeData>;
using Booster = std::unique_ptr<void, FreeBooster>;

constexpr std::size_t kFeatures = 4;

// Visitors of a shop, and whether they buy: those who stay long and see many pages, and regulars.
class Visitors {
 public:
  explicit Visitors(unsigned seed) : state_(seed) {}

  Data draw(std::size_t rows) {
    std::vector<float> values;
    std::vector<float> labels;
    for (std::size_t row = 0; row < rows; ++row) {
      const float minutes = 30 * next(), pages = 20 * next(), hour = 24 * next();
      const float regular = next() < 0.3F ? 1 : 0;
      values.insert(values.end(), {minutes, pages, hour, regular});
      const float score = 0.2F * (minutes - 15) + 0.3F * (pages - 10) + 2 * regular - 0.5F;
      labels.push_back(next() < 1 / (1 + std::exp(-score)) ? 1 : 0);
    }
    DMatrixHandle data = nullptr;
    check(XGDMatrixCreateFromMat(values.data(), rows, kFeatures, std::nanf(""), &data));
    Data owned(data);
    check(XGDMatrixSetFloatInfo(data, "label", labels.data(), labels.size()));
    std::array<const char*, kFeatures> names = {"minutes", "pages", "hour", "regular"};
    check(XGDMatrixSetStrFeatureInfo(data, "feature_name", names.data(), names.size()));
    return owned;
  }

 private:
  float next() {  // from 0 to 1
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(state_ >> 8U) / 16777216.0F;
  }
  unsigned state_;
};

void train(const std::string& directory, int rounds) {
  Visitors visitors(1);
  const Data train_data = visitors.draw(2000), validation_data = visitors.draw(500);
  DMatrixHandle dtrain = train_data.get(), dvalid = validation_data.get();

  const std::array<DMatrixHandle, 2> known = {dtrain, dvalid};
  BoosterHandle booster = nullptr;
  check(XGBoosterCreate(known.data(), known.size(), &booster));
  const Booster owned(booster);
  check(XGBoosterSetParam(booster, "objective", "binary:logistic"));
  check(XGBoosterSetParam(booster, "eta", "0.1"));
  check(XGBoosterSetParam(booster, "max_depth", "3"));
  check(XGBoosterSetParam(booster, "nthread", "1"));

  cupel::HookOptions options{
      .out_dir = directory,
      .existing = cupel::Existing::Replace,
      .include_collections = {"feature_importance", "trees", "losses", "predictions", "labels"}};
  options.profile = cupel::Profile::XGBoost;
  cupel::Hook hook(options);
  cupel::xgboost::Watch watch(hook, booster,
                              {.evals = {{"train", dtrain}, {"validation", dvalid}},
                               .train_data = dtrain,
                               .validation_data = dvalid});
  for (int i = 0; i < rounds; ++i) {
    check(XGBoosterUpdateOneIter(booster, i, dtrain));
    if (watch.after_iteration(i)) break;
  }
  const cupel::HookReport report = hook.close();

  check(XGBoosterSaveModel(booster, (directory + "/model.json").c_str()));
  std::cout << "saved " << report.tensors_saved << " tensors at " << report.steps_committed
            << " steps to " << directory << '\n';
  for (const std::string& problem : report.problems)
    std::cerr << "xgboost_train: " << problem << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc > 1 ? argv[1] : "runs/boost", argc > 2 ? std::atoi(argv[2]) : 60);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "xgboost_train: " << error.what() << '\n';
    return 2;
  }
}
