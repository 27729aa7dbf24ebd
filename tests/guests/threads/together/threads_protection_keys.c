// Each thread has other protection keys, allows and forbids with them, and so finds them when it goes on.
// build plain: -O1 -pthread
// needs: ospke
// totals: vary
// rounds: 20 4000
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

enum { THREADS = 3 };
static volatile uint64_t *page;
static int key;
static long most;
static uint64_t sums[THREADS];

static void *work(void *argument)
{
    long own = (long)argument;
    uint64_t sum = 0;
    for (long round = 0; round < most; round++) {
        int forbidden = (round + own) % 3 ? PKEY_DISABLE_WRITE : PKEY_DISABLE_ACCESS;
        REQUIRE(pkey_set(key, 0) == 0);
        page[own] = mix(page[own], round);
        REQUIRE(pkey_set(key, forbidden) == 0);
        for (int i = 0; i < 50; i++)
            sum = mix(sum, pkey_get(key) + i);
        if (round % 7 == own)
            sched_yield();
        REQUIRE(pkey_get(key) == forbidden);
        if (forbidden == PKEY_DISABLE_WRITE)
            sum = mix(sum, page[own]);
    }
    sums[own] = sum;
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    most = rounds(argc, argv);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED && (key = pkey_alloc(0, 0)) > 0);
    REQUIRE(pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, key) == 0);
    for (long i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], 0) == 0);
        sum = mix(sum, sums[i]);
    }
    return report("keys of threads", sum);
}
