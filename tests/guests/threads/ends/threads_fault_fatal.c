// An unhandled fault in another thread than the first ends the process by SIGSEGV.
// build plain: -O1 -pthread
// rounds: 0 100000
// totals: vary
// blocks: differ
// ends: by a signal
#include "guest.h"
#include <pthread.h>

static void *faults(void *work)
{
    uint64_t sum = 0;
    for (uintptr_t i = 0; i < (uintptr_t)work; i++)
        sum = mix(sum, i);
    report("before the fault", sum);
    fflush(stdout);
    *(volatile int *)8 = 1;
    return 0;
}

static void *compute(void *unused)
{
    for (volatile uint64_t sum = 0;; sum = mix(sum, 1)) {}
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, 0, compute, 0) == 0);
    REQUIRE(pthread_create(&thread, 0, faults, (void *)rounds(argc, argv)) == 0);
    pthread_join(thread, 0);
    return 0;
}
