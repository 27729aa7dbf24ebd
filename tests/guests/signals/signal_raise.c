// Handlers for signals that the program sends itself; masks, nesting, siginfo, an alternative stack, one-shot handlers.
// rounds: 3 25
#include "guest.h"
#include <signal.h>

static volatile uint64_t sum;

static void count(int signal) { sum = mix(sum, signal); }

static void detailed(int signal, siginfo_t *info, void *context)
{
    sum = mix(sum, signal + info->si_value.sival_int);
    if (info->si_value.sival_int > 0 && signal == SIGUSR2)
        raise(SIGUSR1); // inside the handler
    (void)context;
}

int main(int argc, char **argv)
{
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    REQUIRE(sigaltstack(&alternative, 0) == 0);
    struct sigaction action = {.sa_handler = count};
    sigaction(SIGUSR1, &action, 0);
    action.sa_sigaction = detailed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGUSR2, &action, 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        raise(SIGUSR1);
        sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = round % 5});
        sigset_t set, old;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, &old);
        raise(SIGUSR1);
        raise(SIGUSR1); // merged with the pending one
        sum += round;
        sigprocmask(SIG_SETMASK, &old, 0);
        action.sa_handler = count;
        action.sa_flags = SA_RESETHAND | SA_NODEFER;
        sigaction(SIGALRM, &action, 0);
        raise(SIGALRM);
        sigaction(SIGALRM, 0, &action);
        sum = mix(sum, action.sa_handler == SIG_DFL);
    }
    return report("raise", sum);
}
