// Branches to an address that nothing can have, caught by a handler: the fault is the branch's own, and a call has stored its return
// address all the same. A serial run can't tell which branch it was and says so.
// rounds: 0 40
// blocks: differ
// totals: vary
// refused serial: an address that nothing can have
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile uint64_t frames, caught;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    frames = mix(frames, uc->uc_mcontext.gregs[REG_RIP] + uc->uc_mcontext.gregs[REG_RSP]);
    frames = mix(frames, info->si_code + (uintptr_t)info->si_addr + uc->uc_mcontext.gregs[REG_TRAPNO]);
    caught += signal == SIGSEGV;
    siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    const uint64_t target = 0x8000000000001234;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        if (sigsetjmp(out, 1) == 0)
            __asm__ volatile("jmp *%0" : : "r"(target) : "memory");
        if (sigsetjmp(out, 1) == 0)
            __asm__ volatile("call *%0" : : "r"(target) : "memory");
        if (sigsetjmp(out, 1) == 0)
            __asm__ volatile("push %0\n\tret" : : "r"(target) : "memory");
    }
    REQUIRE(frames != 1);
    return report("caught", caught);
}
