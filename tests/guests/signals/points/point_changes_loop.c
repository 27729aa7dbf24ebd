// Handlers change what the loop reads at each round, where it is and how it goes on.
// rounds: 0 4000000
// totals: vary
#include "points.h"

static volatile uint64_t way;
static uint64_t table[2][64];
static uint64_t *volatile current = table[0];

static void changes(int signal)
{
    tick(signal);
    way = way * 5 + 1;
    current = table[way >> 3 & 1];
    current[way & 63]++;
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, changes);
    every(OFTEN);
    uint64_t sum = 1, fixed = 1;
    for (long i = 0; i < rounds(argc, argv); i++) {
        fixed = mix(fixed, i);
        if (way & 1)
            sum += current[i & 63];
        else
            sum = mix(sum, way);
    }
    every(0);
    REQUIRE(sum != 0);
    return report("changed", fixed);
}
