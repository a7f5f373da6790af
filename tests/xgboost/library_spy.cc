// Functions of the C API in the test program. The linker takes these for the calls of the watch and
// of the tests; the next definition of each name is XGBoost's.

#include "library_spy.h"

#include <dlfcn.h>
#include <xgboost/c_api.h>

namespace cupel::testing {

LibrarySpy& library_spy() {
  static LibrarySpy spy;
  return spy;
}

namespace {

std::string& pending_message() {
  static std::string message;
  return message;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

template <class Function, class... Arguments>
int pass_on(const char* name, Function*, Arguments... arguments) {
  LibrarySpy& spy = library_spy();
  ++spy.calls[name];
  if (spy.before_call) spy.before_call();
  pending_message().clear();
  if (const auto failing = spy.failing.find(name); failing != spy.failing.end()) {
    pending_message() = failing->second;
    return -1;
  }
  return next<Function>(name)(arguments...);
}

}  // namespace
}  // namespace cupel::testing

using cupel::testing::library_spy;
using cupel::testing::next;
using cupel::testing::pass_on;

#define CUPEL_PASS_ON(function, ...) pass_on(#function, &function, __VA_ARGS__)

XGB_DLL const char* XGBGetLastError() {
  const std::string& message = cupel::testing::pending_message();
  return message.empty() ? next<decltype(XGBGetLastError)>("XGBGetLastError")() : message.c_str();
}

XGB_DLL int XGCommunicatorIsDistributed() { return library_spy().distributed ? 1 : 0; }

XGB_DLL int XGBoosterEvalOneIter(BoosterHandle handle, int iter, DMatrixHandle dmats[],
                                 const char* evnames[], bst_ulong len, const char** out_result) {
  library_spy().evaluated.assign(dmats, dmats + len);
  const int status =
      CUPEL_PASS_ON(XGBoosterEvalOneIter, handle, iter, dmats, evnames, len, out_result);
  if (status == 0 && !library_spy().evaluation.empty())
    *out_result = library_spy().evaluation.c_str();
  return status;
}

XGB_DLL int XGBoosterPredictFromDMatrix(BoosterHandle handle, DMatrixHandle dmat,
                                        const char* config, const bst_ulong** out_shape,
                                        bst_ulong* out_dim, const float** out_result) {
  return CUPEL_PASS_ON(XGBoosterPredictFromDMatrix, handle, dmat, config, out_shape, out_dim,
                       out_result);
}

XGB_DLL int XGBoosterFeatureScore(BoosterHandle handle, const char* config,
                                  bst_ulong* out_n_features, const char*** out_features,
                                  bst_ulong* out_dim, const bst_ulong** out_shape,
                                  const float** out_scores) {
  return CUPEL_PASS_ON(XGBoosterFeatureScore, handle, config, out_n_features, out_features, out_dim,
                       out_shape, out_scores);
}

XGB_DLL int XGBoosterSlice(BoosterHandle handle, int begin_layer, int end_layer, int step,
                           BoosterHandle* out) {
  return CUPEL_PASS_ON(XGBoosterSlice, handle, begin_layer, end_layer, step, out);
}

XGB_DLL int XGBoosterFree(BoosterHandle handle) { return CUPEL_PASS_ON(XGBoosterFree, handle); }

XGB_DLL int XGBoosterBoostedRounds(BoosterHandle handle, int* out) {
  return CUPEL_PASS_ON(XGBoosterBoostedRounds, handle, out);
}

XGB_DLL int XGBoosterDumpModelExWithFeatures(BoosterHandle handle, int fnum, const char** fname,
                                             const char** ftype, int with_stats, const char* format,
                                             bst_ulong* out_len, const char*** out_models) {
  const int status = CUPEL_PASS_ON(XGBoosterDumpModelExWithFeatures, handle, fnum, fname, ftype,
                                   with_stats, format, out_len, out_models);
  static std::vector<const char*> texts;
  if (status == 0 && !library_spy().dumps.empty()) {
    texts.clear();
    for (const std::string& dump : library_spy().dumps) texts.push_back(dump.c_str());
    *out_len = texts.size();
    *out_models = texts.data();
  }
  return status;
}

XGB_DLL int XGBoosterSaveJsonConfig(BoosterHandle handle, bst_ulong* out_len,
                                    const char** out_str) {
  return CUPEL_PASS_ON(XGBoosterSaveJsonConfig, handle, out_len, out_str);
}

XGB_DLL int XGBoosterGetNumFeature(BoosterHandle handle, bst_ulong* out) {
  return CUPEL_PASS_ON(XGBoosterGetNumFeature, handle, out);
}

XGB_DLL int XGBoosterGetStrFeatureInfo(BoosterHandle handle, const char* field, bst_ulong* len,
                                       const char*** out_features) {
  return CUPEL_PASS_ON(XGBoosterGetStrFeatureInfo, handle, field, len, out_features);
}

XGB_DLL int XGDMatrixGetStrFeatureInfo(DMatrixHandle handle, const char* field, bst_ulong* size,
                                       const char*** out_features) {
  return CUPEL_PASS_ON(XGDMatrixGetStrFeatureInfo, handle, field, size, out_features);
}

XGB_DLL int XGDMatrixGetFloatInfo(const DMatrixHandle handle, const char* field, bst_ulong* out_len,
                                  const float** out_dptr) {
  return CUPEL_PASS_ON(XGDMatrixGetFloatInfo, handle, field, out_len, out_dptr);
}

XGB_DLL int XGDMatrixNumRow(DMatrixHandle handle, bst_ulong* out) {
  return CUPEL_PASS_ON(XGDMatrixNumRow, handle, out);
}
