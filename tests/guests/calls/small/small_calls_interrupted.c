// Small system calls all the time, while SIGALRM and SIGPROF come from timers: handlers that make calls themselves, are
// left by siglongjmp or start a process, and a descriptor that becomes another file.
// rounds: 0 4
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static sigjmp_buf out;
static volatile sig_atomic_t ticks, may_jump;
static int file, ends[2];

static uint64_t call(uint64_t i)
{
    char bytes[64];
    uint64_t sum = syscall(SYS_getppid) > 0;
    sum = mix(sum, pwrite(file, &i, sizeof i, i % 100));
    sum = mix(sum, pread(file, bytes, sizeof bytes, i % 50) > 0);
    return mix(sum, lseek(file, i % 10, SEEK_SET));
}

static void tick(int signal)
{
    ticks++;
    call(ticks);
    REQUIRE(write(ends[1], "x", 1) == 1);
    if (signal == SIGALRM && ticks % 8 == 0) {
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < 100; i++)
                call(i);
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
    char byte;
    file = memfd_create("small calls", 0);
    REQUIRE(file >= 0 && pipe(ends) == 0);
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGPROF, &action, 0);
    struct itimerval often = {{0, 4000}, {0, 4000}}, seldom = {{0, 25000}, {0, 25000}};
    setitimer(ITIMER_REAL, &seldom, 0);
    setitimer(ITIMER_PROF, &often, 0);
    uint64_t sum = 1;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        uint64_t first = call(round);
        volatile long seen = ticks;
        may_jump = round & 1;
        if (sigsetjmp(out, 1) == 0)
            for (volatile long i = 0; i < 250 || ticks < seen + 3; i++)
                REQUIRE(call(round) == first);
        may_jump = 0;
        // A pipe where a file was: reading from it waits.
        int kept = dup(file);
        REQUIRE(kept >= 0 && dup2(ends[0], file) == file);
        for (seen = ticks; ticks == seen;)
            REQUIRE(read(file, &byte, 1) == 1);
        REQUIRE(dup2(kept, file) == file && close(kept) == 0);
        sum = mix(sum, round);
    }
    return report("interrupted", sum);
}
