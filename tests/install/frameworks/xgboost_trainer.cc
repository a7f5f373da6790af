#include <cupel/xgboost/watch.h>
#include <xgboost/c_api.h>

int main(int, char** arguments) {
  cupel::HookOptions options{.out_dir = arguments[1], .profile = cupel::Profile::XGBoost};
  options.include_collections = {"feature_importance"};
  options.save_config.save_interval = 1;
  cupel::Hook hook(options);
  const float features[] = {1, 2, 3, 4, 5, 6}, labels[] = {0, 0, 0, 1, 1, 1};
  DMatrixHandle data = nullptr;
  XGDMatrixCreateFromMat(features, 6, 1, -1, &data);
  XGDMatrixSetFloatInfo(data, "label", labels, 6);
  BoosterHandle booster = nullptr;
  XGBoosterCreate(&data, 1, &booster);
  cupel::xgboost::Watch watch(hook, booster, {.evals = {{"train", data}}});
  for (int i = 0; i < 3 && XGBoosterUpdateOneIter(booster, i, data) == 0; ++i)
    watch.after_iteration(i);
  return hook.close().problems.empty() ? 0 : 1;
}
