// Waits for a handler in a loop that changes nothing, and in one that does work each time that leaves no trace: how often they go round can't be told.
// rounds: 0 40
// totals: vary
// warned: at least
#include "points.h"

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, tick);
    every(OFTEN);
    uint64_t sum = 1;
    for (int i = 0, enough = rounds(argc, argv); i < enough; i++) {
        for (sig_atomic_t before = ticks; ticks == before;)
            ;
        for (sig_atomic_t before = ticks; ticks == before;)
            for (int k = 0; k < 1000; k++)
                __asm__ volatile("");
        sum = mix(sum, i);
    }
    every(0);
    return report("ticks seen", sum);
}
