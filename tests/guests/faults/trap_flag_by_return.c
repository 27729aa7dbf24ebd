// A handler sets the trap flag in its frame, so that its return does: a trap after each instruction, until the trap's handler takes it back.
// rounds: 0 200
// totals: vary
// refused sliced: superpin: the app has set the trap flag
// refused serial: the app has set the trap flag
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100, STEPS = 20 };

static volatile uint64_t seen;
static volatile int steps;

static void on_user(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    seen = mix(seen, signal + info->si_code);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    seen = mix(seen, signal + info->si_code);
    if (++steps % STEPS == 0)
        uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(SIGUSR1, &action, 0) == 0);
    action.sa_sigaction = on_trap;
    REQUIRE(sigaction(SIGTRAP, &action, 0) == 0);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = mix(sum, round);
        if (round % 50 == 10)
            raise(SIGUSR1);
    }
    REQUIRE(steps > 0);
    return report("traps", mix(sum, seen));
}
