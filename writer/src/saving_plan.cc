#include "cupel/writer/saving_plan.h"

#include "cupel/writer/worker_identity.h"
#include "save_plan.h"

namespace cupel {

using namespace writer_detail;

SavingPlan saving_plan(const HookConfiguration& configuration) {
  const HookOptions& options = configuration.options;
  SavingPlan plan;
  plan.known = initial_collections(options);
  for (const Collection& collection : configuration.collections)
    plan.known.insert_or_assign(collection.name(), collection);
  plan.saved = saved_collections(plan.known, options);
  plan.hook = hook_save_config(options).resolved({});
  plan.profile = options.profile;
  plan.num_workers = worker_identity(options.worker, options.num_workers.value_or(0)).count;
  plan.all_workers = options.include_workers == "all";
  return plan;
}

}  // namespace cupel
