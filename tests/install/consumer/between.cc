// A library of somebody, which links cupel::cupel for the programs that link the library.
#include <string>

#include "cupel/store/open_store.h"

std::string location_of(const char* text) { return cupel::open_store(text)->location(); }
