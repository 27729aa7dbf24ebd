// Signals that are blocked or ignored stay so, and keep their handlers, where instructions raise some that the program isn't to see: for readings, random
// numbers, and where slices end. (Not single-stepped: each step would raise such a signal.)
// rounds: 0 200
// build plain: -O1
#define _GNU_SOURCE
#include "bubble.h"
#include <cpuid.h>
#include <signal.h>
#include <x86intrin.h>

static const int raised[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
enum { COUNT = sizeof raised / sizeof *raised };

static void handler(int signal)
{
    (void)signal;
}

static void tell(const char *when)
{
    sigset_t blocked;
    struct sigaction is;
    REQUIRE(sigprocmask(SIG_BLOCK, 0, &blocked) == 0);
    printf("%s:", when);
    for (int i = 0; i < COUNT; i++) {
        REQUIRE(sigaction(raised[i], 0, &is) == 0);
        printf(" %s%s%x", is.sa_handler == SIG_IGN ? "ignored" : is.sa_handler == handler ? "handled" : "default",
               sigismember(&blocked, raised[i]) ? "+" : "-", is.sa_flags & ~0x04000000);
    }
    printf("\n");
}

__attribute__((target("rdrnd"))) static void read_all(void)
{
    unsigned a, b, c, d, number;
    __rdtsc();
    tell("rdtsc");
    __cpuid(1, a, b, c, d);
    tell("cpuid");
    if (c & bit_RDRND)
        _rdrand32_step(&number);
    tell("rdrand");
}

static void work(long rounds)
{
    uint64_t sum = 0;
    for (long i = 0; i < 20000 * rounds; i++)
        sum = mix(sum, i);
    report("work", sum);
    tell("work");
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_NODEFER};
    sigset_t all;
    for (int i = 0; i < COUNT; i++)
        REQUIRE(sigaction(raised[i], &action, 0) == 0);
    tell("ignored");
    read_all();
    work(rounds(argc, argv));
    action.sa_handler = handler;
    for (int i = 0; i < COUNT; i++)
        REQUIRE(sigaction(raised[i], &action, 0) == 0);
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_BLOCK, &all, 0) == 0);
    tell("blocked");
    read_all();
    work(rounds(argc, argv));
}
