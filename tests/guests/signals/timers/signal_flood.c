// SIGPROF a thousand times a second of CPU time: handlers with and without siginfo, left by returning and by siglongjmp.
// rounds: 0 40
// totals: vary
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile sig_atomic_t ticks, may_jump;

static void plain(int signal)
{
    ticks += signal == SIGPROF;
}

static void detailed(int signal, siginfo_t *info, void *context)
{
    ticks += info->si_signo == SIGPROF && context != 0;
    if (may_jump)
        siglongjmp(out, signal);
}

int main(int argc, char **argv)
{
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    REQUIRE(sigaltstack(&alternative, 0) == 0);
    // Where code is slow the first may come before the loop sets its own.
    signal(SIGPROF, plain);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &every, 0);
    uint64_t sum = 1;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        struct sigaction action = {.sa_flags = round & 2 ? SA_RESTART | SA_ONSTACK : SA_RESTART};
        if (round & 1) {
            action.sa_flags |= SA_SIGINFO;
            action.sa_sigaction = detailed;
        } else {
            action.sa_handler = plain;
        }
        sigaction(SIGPROF, &action, 0);
        may_jump = round % 4 == 3;
        volatile uint64_t kept = sum;
        if (sigsetjmp(out, 1) == 0) {
            for (long i = 0, first = ticks; ticks < first + 3; i++)
                kept = mix(kept, i);
            sum = 1;
        }
        may_jump = 0;
        sum = mix(sum, round);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, 0);
    return report("profiled", ticks >= 3);
}
