// A program of single components names the stores that it opens. Nothing is sent.
#include "cupel/s3/s3_scheme.h"
#include "cupel/store/open_store.h"

int main(int, char** argv) {
  return cupel::open_store(argv[1], {cupel::s3_scheme()})->location() == argv[1] ? 0 : 1;
}
