// A program waits for a timer's signal by calls that let it through for as long as they wait: one after the other, each of them is broken off once.
// rounds: 3 100
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/time.h>

enum { MICROSECONDS = 10 };

static volatile sig_atomic_t ticks;
static void tick(int signal) { ticks += signal == SIGALRM; }

static void soon(void)
{
    struct itimerval once = {{0, 0}, {0, MICROSECONDS}};
    REQUIRE(setitimer(ITIMER_REAL, &once, 0) == 0);
}

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    sigset_t alarm, before;
    signal(SIGALRM, tick);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    REQUIRE(sigprocmask(SIG_BLOCK, &alarm, &before) == 0);
    uint64_t sum = 1;
    for (long i = 0; i < amount; i++) {
        soon();
        REQUIRE(sigsuspend(&before) == -1 && errno == EINTR && ticks == 3 * i + 1);
        soon();
        REQUIRE(ppoll(0, 0, 0, &before) == -1 && errno == EINTR && ticks == 3 * i + 2);
        soon();
        REQUIRE(pselect(0, 0, 0, 0, 0, &before) == -1 && errno == EINTR && ticks == 3 * i + 3);
        sum = mix(sum, ticks);
    }
    return report("waited", sum);
}
