// Signals come in a loop whose whole state is in registers, a thousand and ten thousand times a second.
// build fast: -O2
// rounds: 0 8000000
// totals: vary
#include "points.h"

static uint64_t work(long rounds, uint64_t sum)
{
    for (long i = 0; i < rounds; i++)
        sum = mix(sum, i);
    return sum;
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, tick);
    every(OFTEN);
    uint64_t sum = work(rounds(argc, argv), 1);
    every(VERY_OFTEN);
    sum = work(rounds(argc, argv), sum);
    every(0);
    REQUIRE(ticks > 0 || rounds(argc, argv) < 1000000);
    return report("in registers", sum);
}
