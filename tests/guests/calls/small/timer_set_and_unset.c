// A timer of 10 us that is set and unset at once, over and over: it hardly ever ticks natively, and each time if the program is held up in between.
// rounds: 100 600
// totals: vary
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    ticks += signal == SIGALRM;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tick};
    REQUIRE(sigaction(SIGALRM, &action, 0) == 0);
    struct itimerval on = {{0, 10}, {0, 10}}, off = {{0, 0}, {0, 0}};
    long amount = rounds(argc, argv);
    for (long i = 0; i < amount; i++) {
        REQUIRE(setitimer(ITIMER_REAL, &on, 0) == 0);
        REQUIRE(setitimer(ITIMER_REAL, &off, 0) == 0);
        // What has come has come.
        sig_atomic_t before = ticks;
        REQUIRE(getppid() > 0 && ticks == before);
    }
    puts("done");
    return 0;
}
