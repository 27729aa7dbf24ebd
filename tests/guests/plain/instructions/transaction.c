// Starts hardware transactions. Where the processor has them they take their abort path, without a reason given; where it hasn't, the instruction raises SIGILL.
// rounds: 0 100
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

enum { XBEGIN_BYTES = 6 };
static volatile int unknown;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uc->uc_mcontext.gregs[REG_RIP] += XBEGIN_BYTES;
    uc->uc_mcontext.gregs[REG_RAX] = 0;
    unknown++;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, 0);
    uint64_t sum = 0;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        unsigned status = -1;
        // xbegin to the next instruction
        __asm__ volatile(".byte 0xc7, 0xf8, 0, 0, 0, 0" : "+a"(status)::"memory");
        if (status == -1u)
            __asm__ volatile(".byte 0x0f, 0x01, 0xd5" ::: "memory");
        sum = mix(sum, round);
    }
    return report("transactions", sum);
}
