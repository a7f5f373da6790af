#pragma once

#include <memory>

#include "cupel/store/store.h"
#include "training/recipe.h"

namespace cupel::training {

/// Trains after a recipe and saves what a user who wants it judged would save, into memory: once an
/// epoch, with the loss since the last time, the network's tensors of the batch at hand, and an
/// evaluation behind it; the labels and predictions of the last evaluations.
///
/// Throws std::runtime_error where something could not be saved.
std::shared_ptr<Store> train(const Recipe& recipe);

}  // namespace cupel::training
