#include <string>

std::string location_of(const char* text);

int main(int, char** argv) { return location_of(argv[1]) == argv[1] ? 0 : 1; }
