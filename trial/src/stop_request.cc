#include "cupel/trial/stop_request.h"

#include "cupel/format/layout.h"
#include "cupel/store/open_store.h"

namespace cupel {

void request_stop(std::string_view location, const StopRequest& request,
                  const StoreSchemes& schemes) {
  open_store(location, schemes)->put(kStopFile, encode_stop_file(request));
}

}  // namespace cupel
