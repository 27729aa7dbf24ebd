// Stopped and continued again and again, all threads at once, mostly in the middle of what they compute between two calls.
// build plain: -O1 -pthread
// rounds: 0 20
// order: varies
#include "threads.h"
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 3, STOPS = 200 };

static int alive[THREADS], ready[2];
static long work;
static uint64_t sums[THREADS];

static void compute(long number)
{
    uint64_t sum = number;
    for (long i = 0; i < work; i++) {
        call(SYS_getppid, 0, 0, 0, 0, 0, 0);
        // Some milliseconds.
        for (long j = 0; j < 2000000; j++)
            sum = mix(sum, j);
    }
    sums[number] = sum;
}

static void *thread(void *number)
{
    live(&alive[(long)number]);
    give(ready, 1);
    compute((long)number);
    return end_thread(0);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    pid_t parent = getpid(), child = fork();
    for (long i = 0; child == 0; i++) {
        usleep(1000);
        if (i == STOPS || getppid() != parent)
            _exit(0);
        kill(parent, SIGSTOP);
        kill(parent, SIGCONT);
    }
    REQUIRE(pipe(ready) == 0);
    for (long i = 1; i < THREADS; i++)
        start(thread, i);
    for (long i = 1; i < THREADS; i++)
        take(ready);
    compute(0);
    for (int i = 1; i < THREADS; i++)
        wait_for_end(&alive[i]);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return report("stopped", sums[0] + sums[1] + sums[2]);
}
