// Branches to memory that can't be executed and to where nothing is: the handler sees where.
// rounds: 0 40
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile uint64_t sum;
static uint64_t target;
static char data[64];
extern char from_jump[], from_call[], from_return[];

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uint64_t at = uc->uc_mcontext.gregs[REG_RIP];
    int place = at == (uintptr_t)from_jump ? 1 : at == (uintptr_t)from_call ? 2 : at == (uintptr_t)from_return ? 3 : at == target ? 4 : 5;
    sum = mix(sum, signal + info->si_code + place * 1000);
    sum = mix(sum, info->si_addr == 0 ? 1 : (uint64_t)info->si_addr == target ? 2 : 3);
    siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        target = round & 1 ? 0x1234 : (uintptr_t)data;
        if (sigsetjmp(out, 1) == 0)
            __asm__ volatile("mov %0, %%rax\n.globl from_jump\nfrom_jump: jmp *%%rax" : : "r"(target) : "rax", "memory");
        if (sigsetjmp(out, 1) == 0)
            __asm__ volatile("mov %0, %%rax\n.globl from_call\nfrom_call: call *%%rax" : : "r"(target) : "rax", "memory");
        if (sigsetjmp(out, 1) == 0)
            __asm__ volatile("push %0\n.globl from_return\nfrom_return: ret" : : "r"(target) : "memory");
    }
    return report("wild", sum);
}
