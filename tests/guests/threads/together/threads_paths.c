// Threads that start threads, one after the other, so that each has its number in every run; one also starts a process in its own memory. Then all compute, each as long as its place says.
// build plain: -O1 -pthread
// rounds: 3 3000
// order: varies
#include "threads.h"
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

enum { BRANCHES = 3, LEAVES = 2, ALL = BRANCHES * (LEAVES + 1) };

static int leaf_started[2], branch_started[2], go[2], alive[ALL];
static uint64_t sums[ALL];
static long work;

static void compute(long me)
{
    take(go);
    uint64_t sum = me;
    for (long i = 0; i < work * 20 * (me + 1); i++)
        sum = mix(sum, i);
    sums[me] = sum;
}

static void *leaf(void *number)
{
    long me = (long)number;
    live(&alive[me]);
    give(leaf_started, me);
    compute(me);
    return end_thread((int)me);
}

static void *branch(void *number)
{
    long me = (long)number * (LEAVES + 1);
    live(&alive[me]);
    for (int i = 1; i <= LEAVES; i++) {
        start(leaf, me + i);
        REQUIRE(take(leaf_started) == (uint64_t)(me + i));
    }
    if (me == LEAVES + 1) {
        pid_t child;
        int status;
        char *const arguments[] = {"/bin/true", 0};
        REQUIRE(posix_spawn(&child, arguments[0], 0, 0, arguments, 0) == 0);
        REQUIRE(call(SYS_wait4, child, (long)&status, 0, 0, 0, 0) == child && status == 0);
    }
    give(branch_started, me);
    compute(me);
    return end_thread((int)me);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    // Who single-steps would see it come to some thread.
    sigset_t child_ends;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    REQUIRE(pthread_sigmask(SIG_BLOCK, &child_ends, 0) == 0);
    REQUIRE(pipe(leaf_started) == 0 && pipe(branch_started) == 0 && pipe(go) == 0);
    for (long i = 0; i < BRANCHES; i++) {
        start(branch, i);
        REQUIRE(take(branch_started) == (uint64_t)(i * (LEAVES + 1)));
    }
    for (int i = 0; i < ALL; i++)
        give(go, i);
    uint64_t sum = 0;
    for (int i = 0; i < ALL; i++) {
        wait_for_end(&alive[i]);
        sum = mix(sum, sums[i]);
    }
    return report("paths", sum);
}
