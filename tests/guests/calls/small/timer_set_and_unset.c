// A timer of 10 us, or as many as the second argument says, that is set and unset at once, over and over: where that is enough for it hardly ever to tick natively, it ticks each
// time if the program is held up in between. With two arguments the program says how often it did. Where it does nothing but tick, as on a machine on which a handler takes longer
// than that, the program gives up.
// rounds: 100 600
// totals: vary
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static long most;
static const struct itimerval off;

static void tick(int signal)
{
    ticks += signal == SIGALRM;
    if (ticks >= most)
        setitimer(ITIMER_REAL, &off, 0);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tick};
    REQUIRE(sigaction(SIGALRM, &action, 0) == 0);
    long period = argc > 2 ? atol(argv[2]) : 10;
    struct itimerval on = {{0, period}, {0, period}};
    long amount = rounds(argc, argv);
    most = 20 * amount;
    for (long i = 0; i < amount && ticks < most; i++) {
        REQUIRE(setitimer(ITIMER_REAL, &on, 0) == 0);
        REQUIRE(setitimer(ITIMER_REAL, &off, 0) == 0);
        // What has come has come.
        sig_atomic_t before = ticks;
        REQUIRE(getppid() > 0 && ticks == before);
    }
    if (argc > 2)
        printf("%ld\n", (long)ticks);
    else
        puts("done");
    return 0;
}
