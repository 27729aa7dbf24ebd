// Readings of the time stamp counter all the time, small calls among them, while SIGALRM and SIGPROF come from timers: handlers that
// read it too and are left by siglongjmp, or start a process that reads it.
// rounds: 0 4
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static sigjmp_buf out;
static volatile sig_atomic_t ticks, may_jump;

#define READER(name, instructions)                                                                                \
    static uint64_t __attribute__((noinline, aligned(16))) name(uint64_t kept)                                    \
    {                                                                                                             \
        uint64_t low, high, same = kept;                                                                          \
        __asm__ volatile("jmp 7f\n\t.fill 150, 1, 0xf4\n7:\n\t" instructions "jmp 8f\n\t.fill 150, 1, 0xf4\n8:\n\t" \
                         : "=&a"(low), "=&d"(high), "+r"(same)                                                    \
                         :                                                                                        \
                         : "rcx", "cc");                                                                          \
        REQUIRE(same == kept && low >> 32 == 0 && high != 0);                                                     \
        return high << 32 | low;                                                                                  \
    }

READER(fenced, "lfence\n\trdtsc\n\t")
READER(shifted, "rdtscp\n\tshl $32, %%rdx\n\tshr $32, %%rdx\n\t")

static uint64_t __attribute__((noinline, aligned(16))) plain(void)
{
    return __builtin_ia32_rdtsc();
}

static void __attribute__((noinline, aligned(16))) read_some(uint64_t n)
{
    uint64_t last = plain();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t first = fenced(i), second = shifted(i), third = plain();
        REQUIRE(first > last && second > first && third > second);
        last = third;
    }
    REQUIRE(syscall(SYS_getppid) > 0);
}

static void tick(int signal)
{
    ticks++;
    read_some(3);
    if (signal == SIGALRM && ticks % 8 == 0) {
        pid_t child = fork();
        if (child == 0) {
            read_some(50);
            _exit(7);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    }
    if (may_jump && signal == SIGPROF)
        siglongjmp(out, signal);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGPROF, &action, 0);
    struct itimerval often = {{0, 4000}, {0, 4000}}, seldom = {{0, 25000}, {0, 25000}};
    setitimer(ITIMER_REAL, &seldom, 0);
    setitimer(ITIMER_PROF, &often, 0);
    volatile uint64_t sum = 1;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        volatile long seen = ticks;
        may_jump = round & 1;
        if (sigsetjmp(out, 1) == 0)
            for (volatile long i = 0; i < 100 || ticks < seen + 3; i++)
                read_some(10);
        may_jump = 0;
        sum = mix(sum, round);
    }
    return report("interrupted", sum);
}
