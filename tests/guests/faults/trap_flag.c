// Sets the trap flag by popf, as programs do that look for a debugger: a trap after each instruction.
// rounds: 0 200
// totals: vary
// refused sliced: superpin: the app has set the trap flag
// refused serial: the app has set the trap flag
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static volatile uint64_t traps;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    traps = mix(traps, signal + info->si_code + ((uintptr_t)info->si_addr == (uintptr_t)uc->uc_mcontext.gregs[REG_RIP]));
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(SIGTRAP, &action, 0) == 0);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        // Without the flag nothing comes of it.
        __asm__ volatile("pushfq\n\torq $1, (%%rsp)\n\tpopfq\n\tadc $0, %0" : "+r"(sum) : : "cc", "memory");
        if (round == 10)
            __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tmov $39, %%eax\n\tsyscall\n\tnop\n\tpushfq\n\t"
                             "andq $~0x100, (%%rsp)\n\tpopfq\n\tnop"
                             :
                             :
                             : "rax", "rcx", "r11", "cc", "memory");
    }
    return report("traps", mix(sum, traps));
}
