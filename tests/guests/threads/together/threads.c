// Threads that compute and end, joined by the first.
// build plain: -O1 -pthread
// rounds: 0 3000000
// totals: vary
#include "guest.h"
#include <pthread.h>

static long work;

static void *compute(void *start)
{
    uint64_t sum = (uintptr_t)start;
    for (long i = 0; i < work; i++)
        sum = mix(sum, i);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    compute((void *)9);
    pthread_t threads[3];
    uint64_t sum = 0;
    for (uintptr_t i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], 0, compute, (void *)i) == 0);
    for (int i = 0; i < 3; i++) {
        void *value;
        pthread_join(threads[i], &value);
        sum = mix(sum, (uintptr_t)value);
    }
    report("threads", sum);
    return 21;
}
