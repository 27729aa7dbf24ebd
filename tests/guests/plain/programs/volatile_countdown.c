// `while` on a volatile variable in memory: nearly the same registers at each iteration.
// build slow: -O0
// rounds: 1000 100000000
#include "guest.h"

static volatile long left;

int main(int argc, char **argv)
{
    left = rounds(argc, argv);
    while (left)
        left = left - 1;
    return report("left", left);
}
