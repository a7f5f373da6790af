#include "model_features.h"

#include "library_calls.h"

namespace cupel::xgboost_detail {
namespace {

// The texts of the first source that has one for each feature. A source that cannot be asked has
// none.
std::vector<std::string> first_complete(void* booster, std::span<void* const> data,
                                        const char* field, std::size_t features) {
  const auto ask = [&](const auto& source) {
    try {
      std::vector<std::string> texts = source();
      return texts.size() == features ? texts : std::vector<std::string>();
    } catch (const LibraryError&) {
      return std::vector<std::string>();
    }
  };
  auto texts = ask([&] { return feature_texts_of_booster(booster, field); });
  for (void* const each : data) {
    if (!texts.empty()) break;
    texts = ask([&] { return feature_texts_of_data(each, field); });
  }
  return texts;
}

// An indicator has neither threshold nor missing branch in a dump: as a number it has both.
std::string type_in_dumps(const std::string& type) {
  return type == "c" || type == "int" ? type : "q";
}

}  // namespace

Features read_features(void* booster, std::span<void* const> data) {
  const std::size_t count = count_features(booster);
  Features features{first_complete(booster, data, "feature_name", count),
                    first_complete(booster, data, "feature_type", count)};
  if (features.names.empty())
    for (std::size_t i = 0; i < count; ++i) features.names.push_back("f" + std::to_string(i));
  for (std::string& type : features.types) type = type_in_dumps(type);
  features.types.resize(count, "q");
  return features;
}

}  // namespace cupel::xgboost_detail
