// Faults in several threads, each handled where it happened, with jumps out of the handler and repaired memory.
// build plain: -O1 -pthread
// rounds: 0 300
// totals: vary
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { THREADS = 3 };

static long work;
static atomic_int stop;
static __thread sigjmp_buf back;
static __thread volatile char *expected;
static __thread char *repairable;
static __thread volatile int zero;

static void handler(int signal, siginfo_t *info, void *context)
{
    if (signal == SIGSEGV && info->si_addr == repairable) {
        mprotect(repairable, 4096, PROT_READ | PROT_WRITE);
        return;
    }
    if (signal == SIGILL) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
        return;
    }
    REQUIRE(signal == SIGFPE || info->si_addr == expected);
    siglongjmp(back, signal);
}

static void *faults(void *argument)
{
    long self = (long)argument, caught = 0;
    char stack[32 << 10];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    if (self == 1)
        sigaltstack(&own, 0);
    repairable = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (volatile long i = 0; i < work; i++) {
        expected = (char *)(8 * (self + 1));
        int signal = sigsetjmp(back, 1);
        if (signal == 0) {
            if (i % 4 == 0)
                *expected = 1;
            if (i % 4 == 1)
                zero = 1 / zero;
            __asm__ volatile("ud2");
            *repairable = i;
            REQUIRE(*repairable == (char)i);
            mprotect(repairable, 4096, PROT_NONE);
        } else {
            REQUIRE(i % 4 == (signal == SIGSEGV ? 0 : 1));
            caught++;
        }
    }
    own.ss_flags = SS_DISABLE;
    sigaltstack(&own, 0);
    return (void *)caught;
}

static void *compute(void *unused)
{
    volatile uint64_t sum = 0;
    while (!stop)
        sum = mix(sum, 1);
    return unused;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGFPE, &action, 0);
    sigaction(SIGILL, &action, 0);
    pthread_t threads[THREADS], computing;
    REQUIRE(pthread_create(&computing, 0, compute, 0) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, faults, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *caught;
        pthread_join(threads[i], &caught);
        printf("%ld\n", (long)caught);
    }
    stop = 1;
    pthread_join(computing, 0);
    return 0;
}
