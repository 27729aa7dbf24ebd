// Waits for a signal in a loop that changes neither registers nor memory: how often it goes round can't be told.
// rounds: 0 4
// totals: vary
// warned: at least
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
    uint64_t sum = 1;
    for (int i = 0, enough = rounds(argc, argv); i < enough; i++) {
        for (sig_atomic_t before = ticks; ticks == before;)
            ;
        sum = mix(sum, i);
    }
    return report("ticks seen", sum);
}
