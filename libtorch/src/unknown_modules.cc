#include "unknown_modules.h"

#include <utility>

namespace cupel::libtorch_detail {
namespace {

std::string_view collection_of(OperatorKind kind) noexcept {
  switch (kind) {
    case OperatorKind::Normalisation:
      return "norms";
    case OperatorKind::Embedding:
      return "embeddings";
    case OperatorKind::FusedAttention:
      return "attention";
    default:
      return {};
  }
}

}  // namespace

void UnknownModules::add(const NamedRoot& root) {
  const MutexLock lock(mutex_);
  for (const NamedParameter& parameter : root.parameters) {
    const NamedModule& module = root.modules[parameter.module];
    if (module.role.is_known()) continue;
    modules_[module.name].push_back({parameter.name, parameter.tensor});
    is_new_ = true;
  }
}

bool UnknownModules::begin_step() {
  const MutexLock lock(mutex_);
  if (std::exchange(is_new_, false)) return true;
  modules_.clear();
  return false;
}

UnknownModules::Shown UnknownModules::show(const CapturedValues& values) {
  if (values.kind != CapturedValues::Kind::Layer || values.side != CapturedValues::Side::Inputs)
    return {};
  const std::string_view collection = collection_of(values.operator_kind);
  const MutexLock lock(mutex_);
  const auto found = modules_.find(values.owner);
  if (found == modules_.end()) return {};
  Shown shown;
  shown.collection = collection;
  if (!collection.empty()) shown.parameters = std::move(found->second);
  modules_.erase(found);
  return shown;
}

}  // namespace cupel::libtorch_detail
