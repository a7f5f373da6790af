#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cupel/store/local_store.h"
#include "cupel/store/store_scheme.h"
#include "store/wrapped_store.h"

namespace cupel::testing {

/// A scheme that no program has built in: "dir:///tmp/a" is the directory /tmp/a.
inline StoreScheme directory_scheme() {
  class NamedStore final : public WrappedStore {
   public:
    explicit NamedStore(std::string_view location)
        : WrappedStore(
              std::make_shared<LocalStore>(std::string(location.substr(sizeof("dir://") - 1)))),
          location_(location) {}
    std::string location() const override { return location_; }

   private:
    std::string location_;
  };
  return {"dir", [](std::string_view location) { return std::make_unique<NamedStore>(location); }};
}

}  // namespace cupel::testing
