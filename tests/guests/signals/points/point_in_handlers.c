// Signals come in the midst of handlers of other signals, and of their own.
// rounds: 0 4000000
// totals: vary
#include "points.h"

static volatile uint64_t depth, deepest;

static void works(int signal)
{
    tick(signal);
    depth++;
    deepest |= depth;
    uint64_t sum = depth;
    for (int i = 0; depth < 4 && i < 20; i++)
        sum = mix(sum, i);
    REQUIRE(sum != 0);
    depth--;
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_NODEFER, works);
    handles(SIGVTALRM, SA_NODEFER, works);
    every(OFTEN);
    struct itimerval interval = {{0, 4000}, {0, 4000}};
    REQUIRE(setitimer(ITIMER_VIRTUAL, &interval, 0) == 0);
    uint64_t sum = 1;
    for (long i = 0; i < rounds(argc, argv); i++)
        sum = mix(sum, i);
    every(0);
    interval = (struct itimerval){{0, 0}, {0, 0}};
    REQUIRE(setitimer(ITIMER_VIRTUAL, &interval, 0) == 0 && depth == 0);
    return report("nested", sum);
}
