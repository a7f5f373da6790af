// Every collection of every kind of training, against the same quantity asked of XGBoost by its C
// API once the last iteration is over.

#include <algorithm>
#include <numeric>
#include <sstream>

#include "boosting.h"

namespace cupel {
namespace {

using testing::Data;
using testing::Labels;
using testing::must;
using testing::Parameters;

constexpr int kIterations = 4;
constexpr std::int64_t kLast = kIterations - 1;

struct Training {
  const char* name;
  Parameters parameters;
  Data::Form form = {};
  std::size_t trees_of_round = 1;
  bool has_trees = true;
};

void PrintTo(const Training& training, std::ostream* out) { *out << training.name; }

const std::vector<Training>& trainings() {
  static const std::vector<Training> all = {
      {"binary", {{"objective", "binary:logistic"}, {"eval_metric", "auc"}}},
      {"regression", {{"objective", "reg:squarederror"}}, {.labels = Labels::Real}},
      {"subsample",
       {{"objective", "reg:squarederror"}, {"subsample", "0.5"}, {"colsample_bytree", "0.5"}},
       {.labels = Labels::Real}},
      {"softprob",
       {{"objective", "multi:softprob"}, {"num_class", "3"}, {"num_parallel_tree", "2"}},
       {.labels = Labels::Classes},
       6},
      {"softmax",
       {{"objective", "multi:softmax"}, {"num_class", "3"}},
       {.labels = Labels::Classes},
       3},
      {"ranking",
       {{"objective", "rank:pairwise"}, {"eval_metric", "ndcg@2-"}},
       {.labels = Labels::Relevance}},
      {"dart", {{"objective", "binary:logistic"}, {"booster", "dart"}, {"rate_drop", "0.5"}}},
      {"dart_softprob",
       {{"objective", "multi:softprob"}, {"num_class", "3"}, {"booster", "dart"}},
       {.labels = Labels::Classes},
       3},
      {"gblinear",
       {{"objective", "reg:squarederror"}, {"booster", "gblinear"}},
       {.labels = Labels::Real},
       0,
       false},
      {"gblinear_softprob",
       {{"objective", "multi:softprob"}, {"num_class", "3"}, {"booster", "gblinear"}},
       {.labels = Labels::Classes},
       0,
       false},
      {"categorical",
       {{"objective", "reg:squarederror"}, {"tree_method", "hist"}, {"max_cat_to_onehot", "1"}},
       {.labels = Labels::Real, .categorical = true}},
      {"one_hot",
       {{"objective", "reg:squarederror"}, {"tree_method", "hist"}, {"max_cat_to_onehot", "9"}},
       {.labels = Labels::Real, .categorical = true}},
      {"two_targets",
       {{"objective", "reg:squarederror"}, {"tree_method", "hist"}},
       {.labels = Labels::TwoTargets},
       2},
  };
  return all;
}

class WatchedCollections : public testing::WatchTest,
                           public ::testing::WithParamInterface<Training> {
 protected:
  HookReport train_with(std::vector<std::string> collections) {
    options.include_collections = std::move(collections);
    prepare(GetParam().parameters, GetParam().form);
    return run(kIterations);
  }

  std::vector<float> predicted(const Data& data, int type, std::vector<std::int64_t>& shape) {
    const std::string config = R"({"type": )" + std::to_string(type) +
                               R"(, "training": false, "iteration_begin": 0, "iteration_end": 0,
                                  "strict_shape": false})";
    const bst_ulong* extents = nullptr;
    bst_ulong rank = 0;
    const float* numbers = nullptr;
    must(XGBoosterPredictFromDMatrix(model->handle(), data.handle(), config.c_str(), &extents,
                                     &rank, &numbers));
    shape.assign(extents, extents + rank);
    const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                       std::multiplies<std::int64_t>());
    return {numbers, numbers + count};
  }

  static std::vector<std::int64_t> extents(const TensorValue& of) {
    return {of.shape().begin(), of.shape().end()};
  }
};

INSTANTIATE_TEST_SUITE_P(Of, WatchedCollections, ::testing::ValuesIn(trainings()),
                         [](const auto& row) { return std::string(row.param.name); });

class WatchedTrees : public WatchedCollections {};

std::vector<Training> trainings_with_trees() {
  std::vector<Training> some = trainings();
  std::erase_if(some, [](const Training& training) { return !training.has_trees; });
  return some;
}

INSTANTIATE_TEST_SUITE_P(Of, WatchedTrees, ::testing::ValuesIn(trainings_with_trees()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(WatchedCollections, metrics_are_those_of_the_evaluation_in_f64_of_shape_1) {
  EXPECT_THAT(train_with({}).problems, ::testing::IsEmpty());
  std::vector<DMatrixHandle> data = {train->handle(), validation->handle()};
  std::vector<const char*> names = {"train", "validation"};
  const char* text = nullptr;
  must(XGBoosterEvalOneIter(model->handle(), 0, data.data(), names.data(), 2, &text));
  std::istringstream parts(text);
  std::string part;
  parts >> part;  // "[0]"
  std::vector<std::string> expected;
  while (parts >> part) {
    const std::string name = part.substr(0, part.rfind(':'));
    expected.push_back(name);
    const TensorValue saved = value(name, kLast);
    EXPECT_EQ(saved.dtype(), DType::F64);
    EXPECT_EQ(saved.shape(), Shape({1}));
    EXPECT_EQ(saved.as<double>()[0], std::stod(part.substr(part.rfind(':') + 1))) << part;
  }
  EXPECT_EQ(expected.size(), 2U);
  EXPECT_THAT(saved_names(), ::testing::UnorderedElementsAreArray(expected));
}

TEST_P(WatchedCollections, predictions_are_those_of_the_validation_data_in_f32) {
  EXPECT_THAT(train_with({"predictions"}).problems, ::testing::IsEmpty());
  std::vector<std::int64_t> shape;
  const std::vector<float> expected = predicted(*validation, 0, shape);
  const TensorValue saved = value("predictions", kLast);
  EXPECT_EQ(extents(saved), shape);
  EXPECT_EQ(values<float>("predictions", kLast), expected);
  EXPECT_EQ(shape.front(), static_cast<std::int64_t>(validation->rows()));
  const std::string objective = GetParam().parameters.at("objective");
  const bool has_columns =
      objective == "multi:softprob" || GetParam().form.labels == Labels::TwoTargets;
  EXPECT_EQ(shape.size(), has_columns ? 2U : 1U);
}

TEST_P(WatchedCollections, labels_are_those_of_the_validation_data_in_f32) {
  EXPECT_THAT(train_with({"labels"}).problems, ::testing::IsEmpty());
  const TensorValue saved = value("labels", kLast);
  const auto rows = static_cast<std::int64_t>(validation->rows());
  using Extents = std::vector<std::int64_t>;
  EXPECT_EQ(extents(saved),
            GetParam().form.labels == Labels::TwoTargets ? Extents({rows, 2}) : Extents({rows}));
  EXPECT_EQ(values<float>("labels", kLast), validation->labels());
}

TEST_P(WatchedCollections, full_shap_is_the_matrix_of_contributions) {
  EXPECT_THAT(train_with({"full_shap"}).problems, ::testing::IsEmpty());
  std::vector<std::int64_t> shape;
  const std::vector<float> expected = predicted(*train, 2, shape);
  EXPECT_EQ(extents(value("full_shap/matrix", kLast)), shape);
  EXPECT_EQ(shape.front(), static_cast<std::int64_t>(train->rows()));
  EXPECT_EQ(shape.back(), static_cast<std::int64_t>(train->features()) + 1);
  EXPECT_EQ(values<float>("full_shap/matrix", kLast), expected);
}

TEST_P(WatchedCollections, average_shap_is_the_signed_mean_over_rows_and_classes) {
  EXPECT_THAT(train_with({"average_shap"}).problems, ::testing::IsEmpty());
  std::vector<std::int64_t> shape;
  const std::vector<float> matrix = predicted(*train, 2, shape);
  const std::size_t columns = train->features() + 1;
  for (std::size_t feature = 0; feature < train->features(); ++feature) {
    double sum = 0;
    for (std::size_t i = feature; i < matrix.size(); i += columns)
      sum += static_cast<double>(matrix[i]);
    const std::string name = "average_shap/f" + std::to_string(feature);
    const TensorValue saved = value(name, kLast);
    EXPECT_EQ(saved.shape(), Shape({1}));
    EXPECT_FLOAT_EQ(saved.as<float>()[0],
                    static_cast<float>(sum / static_cast<double>(matrix.size() / columns)));
  }
  EXPECT_THAT(saved_names(), ::testing::Not(::testing::Contains("average_shap/bias")));
}

TEST_P(WatchedCollections, feature_importance_is_each_score_of_the_sum_of_scores) {
  const HookReport report = train_with({"feature_importance"});
  std::map<std::string, double> expected;
  if (GetParam().has_trees) {
    EXPECT_THAT(report.problems, ::testing::IsEmpty());
    for (const std::string type : {"weight", "gain", "cover", "total_gain", "total_cover"}) {
      bst_ulong count = 0, rank = 0;
      const char** features = nullptr;
      const bst_ulong* shape = nullptr;
      const float* scores = nullptr;
      const std::string config = R"({"importance_type": ")" + type + R"("})";
      must(XGBoosterFeatureScore(model->handle(), config.c_str(), &count, &features, &rank, &shape,
                                 &scores));
      const double sum = std::accumulate(scores, scores + count, 0.0);
      for (bst_ulong i = 0; i < count; ++i)
        expected["feature_importance/" + type + "/" + features[i]] =
            static_cast<double>(scores[i]) / sum;
    }
    EXPECT_GE(expected.size(), 5U);
  } else {
    EXPECT_THAT(report.problems, ::testing::ElementsAre(::testing::HasSubstr(
                                     "feature_importance is left out from step 0 on: ")));
  }
  std::map<std::string, double> saved;
  for (const std::string& name : saved_names()) {
    if (!name.starts_with("feature_importance/")) continue;
    if (open_trial()->tensor(name).steps().back() != kLast) continue;
    EXPECT_EQ(value(name, kLast).shape(), Shape({1}));
    saved[name] = values<double>(name, kLast)[0];
  }
  EXPECT_EQ(saved, expected);
}

TEST_P(WatchedCollections, trees_has_every_tree_of_the_iteration) {
  const HookReport report = train_with({"trees"});
  if (!GetParam().has_trees) {
    EXPECT_THAT(report.problems,
                ::testing::ElementsAre(::testing::HasSubstr("trees is left out from step 0 on: ")));
    EXPECT_THAT(saved_names(), ::testing::Each(::testing::Not(::testing::StartsWith("trees/"))));
    return;
  }
  EXPECT_THAT(report.problems, ::testing::IsEmpty());
  const auto count = static_cast<std::int64_t>(GetParam().trees_of_round);
  for (std::int64_t step = 0; step < kIterations; ++step) {
    std::vector<std::int64_t> trees = values<std::int64_t>("trees/Tree", step);
    EXPECT_TRUE(std::is_sorted(trees.begin(), trees.end()));
    trees.erase(std::unique(trees.begin(), trees.end()), trees.end());
    std::vector<std::int64_t> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), step * count);
    EXPECT_EQ(trees, expected) << "step " << step;
  }
}

TEST_P(WatchedTrees, are_those_in_the_text_of_the_whole_model) {
  train_with({"trees"});
  std::vector<std::string> names;
  std::vector<const char*> name_texts, types(train->features(), "q");
  for (std::size_t i = 0; i < types.size(); ++i) names.push_back("f" + std::to_string(i));
  for (const std::string& name : names) name_texts.push_back(name.c_str());
  if (GetParam().form.categorical) types[0] = "c";
  bst_ulong count = 0;
  const char** dumps = nullptr;
  must(XGBoosterDumpModelExWithFeatures(model->handle(), static_cast<int>(types.size()),
                                        name_texts.data(), types.data(), 1, "text", &count,
                                        &dumps));
  const auto tree = values<std::int64_t>("trees/Tree", kLast);
  const auto node = values<std::int64_t>("trees/Node", kLast);
  const auto id = texts("trees/ID", kLast), feature = texts("trees/Feature", kLast),
             yes = texts("trees/Yes", kLast), no = texts("trees/No", kLast),
             missing = texts("trees/Missing", kLast), category = texts("trees/Category", kLast);
  const auto split = values<double>("trees/Split", kLast),
             gain = values<double>("trees/Gain", kLast),
             cover = values<double>("trees/Cover", kLast);
  std::size_t row = 0, categorical = 0;
  for (bst_ulong number = count - GetParam().trees_of_round; number < count; ++number) {
    // "0:[f1<0.5] yes=1,no=2,missing=1,gain=3,cover=4" or "1:leaf=0.5,cover=2", by node.
    std::map<int, std::string> lines;
    std::istringstream text(dumps[number]);
    for (std::string line; std::getline(text, line);)
      if (!line.empty()) lines[std::stoi(line)] = line.substr(line.find(':') + 1);
    for (const auto& [at, line] : lines) {
      ASSERT_LT(row, tree.size());
      const auto field = [&line = line](const std::string& key) {
        const std::size_t begin = line.find(key + "=");
        if (begin == std::string::npos) return std::string();
        const std::size_t from = begin + key.size() + 1;
        return line.substr(from, line.find(',', from) - from);
      };
      const std::string prefix = std::to_string(number) + "-";
      EXPECT_EQ(tree[row], static_cast<std::int64_t>(number));
      EXPECT_EQ(node[row], at);
      EXPECT_EQ(id[row], prefix + std::to_string(at));
      EXPECT_EQ(cover[row], std::stod(field("cover")));
      if (line.starts_with("leaf=")) {
        EXPECT_EQ(feature[row], "Leaf");
        EXPECT_EQ(gain[row], std::stod(field("leaf")));
        EXPECT_TRUE(std::isnan(split[row]));
        for (const auto* column : {&yes, &no, &missing, &category})
          EXPECT_EQ((*column)[row], "nan");
      } else {
        EXPECT_EQ(yes[row], prefix + field("yes"));
        EXPECT_EQ(no[row], prefix + field("no"));
        EXPECT_EQ(missing[row], prefix + field("missing"));
        EXPECT_EQ(gain[row], std::stod(field("gain")));
        const std::string condition = line.substr(1, line.find(']') - 1);
        if (const std::size_t set = condition.find(":{"); set != std::string::npos) {
          ++categorical;
          EXPECT_EQ(feature[row], condition.substr(0, set));
          EXPECT_EQ(category[row], condition.substr(set + 2, condition.size() - set - 3));
          EXPECT_TRUE(std::isnan(split[row]));
        } else {
          const std::size_t less = condition.find('<');
          EXPECT_EQ(feature[row], condition.substr(0, less));
          EXPECT_EQ(split[row], std::stod(condition.substr(less + 1)));
          EXPECT_EQ(category[row], "nan");
        }
      }
      ++row;
    }
  }
  EXPECT_EQ(row, tree.size());
  EXPECT_EQ(categorical > 0, GetParam().form.categorical);
}

TEST_P(WatchedCollections, the_model_is_to_the_bit_the_one_of_a_training_that_is_not_watched) {
  options.save_all = true;
  train_with({});
  const std::string watched = model->bytes();
  prepare(GetParam().parameters, GetParam().form);
  for (int i = 0; i < kIterations; ++i) model->update(i, *train);
  EXPECT_EQ(watched, model->bytes());
}

}  // namespace
}  // namespace cupel
