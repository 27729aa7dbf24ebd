// Thousands of threads one after the other, joined and detached, and 200 at the same time.
// build plain: -O1 -pthread
// rounds: 0 1000
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

enum { ALIVE = 200 };

static atomic_long ended;
static pthread_barrier_t barrier;
static __thread uint64_t own = 5;

static void *one(void *value)
{
    REQUIRE(own == 5);
    own = (uintptr_t)value;
    ended++;
    return (void *)mix(own, 3);
}

static void *waits(void *value)
{
    own = (uintptr_t)value;
    pthread_barrier_wait(&barrier);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++)
        sum = mix(sum, own);
    pthread_barrier_wait(&barrier);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    long all = rounds(argc, argv);
    uint64_t sum = 0;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (long i = 0; i < all; i++) {
        pthread_t joined, other;
        void *value;
        REQUIRE(pthread_create(&joined, 0, one, (void *)i) == 0);
        REQUIRE(pthread_create(&other, &detached, one, (void *)i) == 0);
        REQUIRE(pthread_join(joined, &value) == 0);
        sum = mix(sum, (uintptr_t)value);
    }
    while (ended < 2 * all)
        usleep(100);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&barrier, 0, ALIVE);
    static pthread_t threads[ALIVE];
    for (uintptr_t i = 0; i < ALIVE; i++)
        REQUIRE(pthread_create(&threads[i], &small, waits, (void *)i) == 0);
    for (int i = 0; i < ALIVE; i++) {
        void *value;
        pthread_join(threads[i], &value);
        sum = mix(sum, (uintptr_t)value);
    }
    report("many", sum);
    return 0;
}
