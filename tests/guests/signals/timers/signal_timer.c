// SIGALRM from an interval timer interrupts computing at arbitrary instructions; the result doesn't depend on it.
// build fast: -O1
// rounds: 0 8
// totals: vary
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static void tick(int signal) { ticks += signal == SIGALRM; }

int main(int argc, char **argv)
{
    signal(SIGALRM, tick);
    struct itimerval every = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &every, 0);
    uint64_t sum = 1, idle = 0;
    for (long done = 0; ticks < rounds(argc, argv) || done < 100000; done++)
        if (done < 100000)
            for (int i = 0; i < 100; i++)
                sum = mix(sum, i);
        else
            idle = mix(idle, done); // the state never recurs
    REQUIRE(idle != 1);
    return report("ticks seen", sum);
}
