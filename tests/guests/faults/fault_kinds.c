// SIGFPE, SIGILL, SIGBUS and SIGSEGV on protected memory, each handled; state at the fault is checked.
// rounds: 2 15
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile uint64_t sum;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    sum = mix(sum, signal * 100 + info->si_code);
    sum = mix(sum, uc->uc_mcontext.gregs[REG_RBX]);
    sum = mix(sum, uc->uc_mcontext.gregs[REG_EFL] & 0xc1);
    // Whether the signal's own address is that of the instruction.
    sum = mix(sum, (uintptr_t)info->si_addr == (uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);
    siglongjmp(out, 1);
}

#define FAULT_AT(address, text)                                                           \
    if (sigsetjmp(out, 1) == 0)                                                           \
    __asm__ volatile("mov $0x1234, %%rbx\n\txor %%eax, %%eax\n\tcmp $7, %%ebx\n\t" text \
                     :                                                                    \
                     : "D"(address)                                                       \
                     : "rax", "rbx", "rdx", "cc", "memory")
#define FAULT(text) FAULT_AT(page, text)

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    int signals[] = {SIGFPE, SIGILL, SIGBUS, SIGSEGV};
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &action, 0);
    char *page = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *file = tmpfile();
    REQUIRE(file);
    char *beyond = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    REQUIRE(page != MAP_FAILED && beyond != MAP_FAILED);
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        FAULT("xor %%edx, %%edx\n\tdivl %%eax");
        FAULT("ud2");
        FAULT("movl $1, (%%rdi)");
        FAULT("add %%eax, 4(%%rdi)");
        FAULT("hlt");
        FAULT("mov $0x8000000000000000, %%rax\n\tmov (%%rax), %%eax");
        FAULT("mov $1, %%edx\n\tcall *%%rax");
        FAULT_AT(beyond, "mov (%%rdi), %%eax");
    }
    return report("faults", sum);
}
