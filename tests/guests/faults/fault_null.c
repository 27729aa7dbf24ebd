// Null pointers caught by a SIGSEGV handler that leaves by siglongjmp, or mends the register and goes on.
// rounds: 5 60
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile uint64_t sum;
static int resume;
static long good = 41;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    sum = mix(sum, signal + (uint64_t)info->si_addr + info->si_code);
    if (!resume)
        siglongjmp(out, 1);
    uc->uc_mcontext.gregs[REG_RAX] = (greg_t)&good;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        resume = 0;
        if (sigsetjmp(out, 1) == 0)
            sum += *(volatile long *)(round % 50 * 8);
        resume = 1;
        long value;
        __asm__ volatile("mov $0x10, %%eax\n\tmov (%%rax), %0\n\tinc %0" : "=r"(value) : : "rax", "cc");
        sum = mix(sum, value);
    }
    return report("faults", sum);
}
