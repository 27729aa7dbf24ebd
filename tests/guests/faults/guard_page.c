// Stack overflow caught on an alternate stack, and pages that a SIGSEGV handler makes accessible when they are first touched.
// rounds: 1 30
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static sigjmp_buf out;
static char *lazy;
static volatile int faults;

static void handler(int signal, siginfo_t *info, void *context)
{
    char *address = info->si_addr;
    faults++;
    if (lazy && address >= lazy && address < lazy + 65536) {
        REQUIRE(mprotect((void *)((uintptr_t)address & -4096), 4096, PROT_READ | PROT_WRITE) == 0);
        return;
    }
    siglongjmp(out, signal);
    (void)context;
}

static __attribute__((noinline)) int endless(volatile char *above)
{
    volatile char room[2000];
    room[0] = above ? above[0] : 1;
    return room[0] ? endless(room) + room[0] : 0;
}

int main(int argc, char **argv)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    REQUIRE(setrlimit(RLIMIT_STACK, &limit) == 0);
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    REQUIRE(sigaltstack(&alternative, 0) == 0);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, 0);
    uint64_t sum = 0;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        lazy = 0;
        if (sigsetjmp(out, 1) == 0)
            sum += endless(0);
        lazy = mmap(0, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(lazy != MAP_FAILED);
        for (int i = 0; i < 65536; i += 512)
            sum = mix(sum, lazy[i]++);
        REQUIRE(munmap(lazy, 65536) == 0);
        sum = mix(sum, faults);
    }
    return report("guarded", sum);
}
