// The kernel has all threads of the process pass a barrier, while they compute, wait and end; one of the kinds makes new code visible, too.
// build plain: -O1 -pthread
// rounds: 0 10
// totals: vary
#include "threads.h"
#include <linux/membarrier.h>

static volatile long stops;

static void *compute(void *number)
{
    uint64_t sum = (uintptr_t)number;
    while (!stops)
        for (int i = 0; i < 500; i++)
            sum = mix(sum, i);
    return (void *)sum;
}

static void *end_at_once(void *unused) { return unused; }

static long membarrier(long command) { return call(SYS_membarrier, command, 0, 0, 0, 0, 0); }

int main(int argc, char **argv)
{
    enum { THREADS = 2 };
    pthread_t threads[THREADS], short_one;
    long work = rounds(argc, argv), known = membarrier(MEMBARRIER_CMD_QUERY);
    REQUIRE(known >= 0);
    int has_private = known & MEMBARRIER_CMD_PRIVATE_EXPEDITED, has_core = known & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
    if (has_private) {
        REQUIRE(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) < 0);
        REQUIRE(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
    }
    if (has_core)
        REQUIRE(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) == 0);
    for (long i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, compute, (void *)i) == 0);
    for (long i = 0; i < work; i++) {
        REQUIRE(pthread_create(&short_one, 0, end_at_once, 0) == 0);
        if (has_private)
            REQUIRE(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0);
        if (has_core)
            REQUIRE(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0);
        REQUIRE(pthread_join(short_one, 0) == 0);
    }
    stops = 1;
    for (long i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], 0) == 0);
    report("barriers", work);
    return 0;
}
