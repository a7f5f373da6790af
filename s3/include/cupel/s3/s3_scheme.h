#pragma once

#include "cupel/s3/s3_options.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// The scheme "s3", which opens "s3://bucket/prefix" as an S3Store with these options:
///
///     HookOptions options;
///     options.out_dir = "s3://bucket/runs/mnist";
///     options.schemes = {s3_scheme({.region = "eu-central-1"})};
///
/// A program that links cupel::cupel needs it only for options of its own: s3_scheme() is one of
/// built_in_schemes() there.
StoreScheme s3_scheme(S3Options options = {});

}  // namespace cupel
