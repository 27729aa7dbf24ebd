// Threads that compute one after the other: a number goes round by pipes, many times. Each ends by itself.
// build plain: -O1 -pthread
// rounds: 10 2000
// order: varies
#include "threads.h"

enum { THREADS = 4 };

static int pipes[THREADS + 1][2], alive[THREADS];
static long work;

static void *pass(void *number)
{
    long me = (long)number;
    live(&alive[me]);
    for (long i = 0; i < work; i++) {
        uint64_t sum = take(pipes[me]);
        for (long j = 0; j < 50 * (me + 1); j++)
            sum = mix(sum, j);
        give(pipes[me + 1], sum);
    }
    return end_thread(0);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    for (int i = 0; i <= THREADS; i++)
        REQUIRE(pipe(pipes[i]) == 0);
    for (long i = 0; i < THREADS; i++)
        start(pass, i);
    uint64_t sum = 1;
    for (long i = 0; i < work; i++) {
        give(pipes[0], sum);
        sum = take(pipes[THREADS]);
    }
    for (int i = 0; i < THREADS; i++)
        wait_for_end(&alive[i]);
    return report("turns", sum);
}
