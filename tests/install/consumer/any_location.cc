// A program on cupel::cupel opens all stores of the build, and names none. Nothing is sent.
#include "cupel/store/open_store.h"

int main(int, char** argv) { return cupel::open_store(argv[1])->location() == argv[1] ? 0 : 1; }
