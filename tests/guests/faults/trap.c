// A trap instruction and a handler for SIGTRAP, which sees the address after it; that of int1 also as the signal's own. (Not single-stepped: that would
// take the handler away.)
// build int3: -O1
// build int1: -O1 -DINT1
// native: may hang
// rounds: 0 100
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

#ifdef INT1
#define TRAP ".byte 0xf1"
#define ADDRESS(info) ((char *)(info)->si_addr - after)
#else
#define TRAP "int3"
#define ADDRESS(info) 0
#endif

static volatile uint64_t sum;
extern char after[];

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    sum = mix(sum, signal + info->si_code);
    sum = mix(sum, (char *)uc->uc_mcontext.gregs[REG_RIP] - after);
    sum = mix(sum, ADDRESS(info));
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, 0);
    for (volatile long round = 0; round < rounds(argc, argv); round++)
        __asm__ volatile(TRAP "\n\t.globl after\nafter:" ::: "memory");
    return report("traps", sum);
}
