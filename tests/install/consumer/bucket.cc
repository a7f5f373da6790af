#include "cupel/store/open_store.h"

int main(int, char** argv) {
  // Nothing is sent: that it opens proves that it was linked.
  return cupel::open_store(argv[1])->location() == argv[1] ? 0 : 1;
}
