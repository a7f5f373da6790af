// Finds the spools in a directory and delivers them: what a job does before its machine is
// returned.

#include <cstdio>

#include "cupel/delivery/deliver_spool.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  bool is_done = true;
  const auto spools = cupel::Spool::find(arguments[1]);
  for (const std::string& spool : spools) is_done = cupel::deliver_spool(spool).ok() && is_done;
  std::printf("%zu spools\n", spools.size());
  return is_done ? 0 : 1;
}
