// Handlers run where calls that wait are broken off: these fail, and have written what they write then. What they leave in memory decides how often a loop runs.
// rounds: 3 40
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { MICROSECONDS = 10 };

static volatile sig_atomic_t ticks;
static void tick(int signal) { ticks += signal == SIGALRM; }

static void handle(int flags)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = flags};
    REQUIRE(sigaction(SIGALRM, &action, 0) == 0);
}

// Waits for the signal by a call that lets it through, so that it comes once and there.
static void suspend(const sigset_t *open)
{
    struct itimerval once = {{0, 0}, {0, MICROSECONDS}};
    REQUIRE(setitimer(ITIMER_REAL, &once, 0) == 0);
    REQUIRE(sigsuspend(open) == -1 && errno == EINTR);
}

// As often as there are bits in what a call has left.
static uint64_t weigh(uint64_t sum, const void *bytes, size_t len)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < len; i++)
        for (int n = 0; n < byte[i]; n++)
            sum = mix(sum, n);
    return sum;
}

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    sigset_t alarm, open;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    REQUIRE(sigprocmask(SIG_BLOCK, &alarm, &open) == 0);
    uint64_t sum = 1;
    for (long i = 0; i < amount; i++) {
        // Set for once: it has to be set again each time.
        handle(SA_RESETHAND);
        suspend(&open);
        struct sigaction now;
        REQUIRE(sigaction(SIGALRM, 0, &now) == 0 && now.sa_handler == SIG_DFL);
        handle(0);
        suspend(&open);
        // Revents are written whatever comes.
        struct pollfd none = {.fd = -1, .events = POLLIN, .revents = 0x55};
        struct itimerval once = {{0, 0}, {0, MICROSECONDS}};
        REQUIRE(setitimer(ITIMER_REAL, &once, 0) == 0);
        REQUIRE(ppoll(&none, 1, 0, &open) == -1 && errno == EINTR);
        sum = weigh(sum, &none.revents, sizeof none.revents);
        // And so are the fields of what no child has left.
        siginfo_t info;
        memset(&info, 0x33, sizeof info);
        REQUIRE(waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD);
        sum = weigh(sum, &info, sizeof info);
        REQUIRE(ticks == 3 * i + 3);
        sum = mix(sum, ticks);
    }
    return report("broken off", sum);
}
