// A fault kills where its signal is blocked or ignored, be there a handler.
// rounds: 10 300000
// blocks: differ
// build blocked: -O1 -DBLOCKED
// build ignored: -O1
// build blocked_division: -O1 -DBLOCKED -DSIGNAL=SIGFPE
// build ignored_division: -O1 -DSIGNAL=SIGFPE
// build blocked_trap: -O1 -DBLOCKED -DSIGNAL=SIGTRAP
// build ignored_trap: -O1 -DSIGNAL=SIGTRAP
// ends: by a signal
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <unistd.h>

#ifndef SIGNAL
#define SIGNAL SIGSEGV
#endif

static void handler(int signal)
{
    printf("handled %d\n", signal);
    exit(1);
}

int main(int argc, char **argv)
{
    sigset_t own;
    uint64_t sum = 0;
    signal(SIGNAL, handler);
    sigemptyset(&own);
    sigaddset(&own, SIGNAL);
#ifdef BLOCKED
    sigprocmask(SIG_BLOCK, &own, 0);
#else
    signal(SIGNAL, SIG_IGN);
#endif
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = mix(sum, round);
        // In slices the recorder inside the app takes such calls over, where what is blocked and ignored lets it.
        if (round % 1000 == 0)
            getppid();
    }
    report("before the fault", sum);
    fflush(stdout);
    if (SIGNAL == SIGSEGV)
        *(volatile int *)8 = 1;
    else if (SIGNAL == SIGFPE)
        __asm__ volatile("xor %%ecx, %%ecx\n\tdiv %%ecx" : : : "rax", "rdx", "rcx");
    else
        __asm__ volatile("int3");
    return 0;
}
