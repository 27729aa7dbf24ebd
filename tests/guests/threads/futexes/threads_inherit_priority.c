// Mutexes whose owners the kernel knows, and whom it gives their waiters' priority: it writes the words itself, for whoever is next as well.
// build plain: -O1 -pthread
// rounds: 0 150
// totals: vary
#define _GNU_SOURCE
#include "threads.h"
#include <errno.h>
#include <time.h>

enum { THREADS = 4 };

static pthread_mutex_t mutex;
static uint32_t word, condition;
static long work, total, other;

static long futex(uint32_t *at, int operation, uint64_t value, uint64_t timeout, uint32_t *second)
{
    return call(SYS_futex, (long)at, operation | FUTEX_PRIVATE_FLAG, value, timeout, (long)second, 0);
}

static void *add(void *unused)
{
    for (long i = 0; i < work; i++) {
        REQUIRE(pthread_mutex_lock(&mutex) == 0);
        long before = total;
        if (i % 10 == 0)
            usleep(50);
        total = before + 1;
        REQUIRE(pthread_mutex_unlock(&mutex) == 0);

        // The same by the kernel alone.
        REQUIRE(futex(&word, FUTEX_LOCK_PI, 0, 0, 0) == 0);
        REQUIRE((word & FUTEX_TID_MASK) == (uint32_t)call(SYS_gettid, 0, 0, 0, 0, 0, 0));
        before = other;
        if (i % 10 == 5)
            usleep(50);
        other = before + 1;
        REQUIRE(futex(&word, FUTEX_UNLOCK_PI, 0, 0, 0) == 0);
    }
    return 0;
}

// Waits for the condition, and has the lock then.
static void *wait_for_condition(void *unused)
{
    REQUIRE(futex(&condition, FUTEX_WAIT_REQUEUE_PI, 0, 0, &word) == 0);
    REQUIRE((word & FUTEX_TID_MASK) == (uint32_t)call(SYS_gettid, 0, 0, 0, 0, 0, 0));
    other++;
    REQUIRE(futex(&word, FUTEX_UNLOCK_PI, 0, 0, 0) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_mutexattr_t attributes;
    work = rounds(argc, argv);
    REQUIRE(pthread_mutexattr_init(&attributes) == 0 && pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0);
    REQUIRE(pthread_mutex_init(&mutex, &attributes) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, add, 0) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], 0) == 0);
    REQUIRE(total == THREADS * work && other == total && word == 0);
    REQUIRE(futex(&word, FUTEX_UNLOCK_PI, 0, 0, 0) == -EPERM);
    REQUIRE(futex(&word, FUTEX_TRYLOCK_PI, 0, 0, 0) == 0 && futex(&word, FUTEX_LOCK_PI, 0, 0, 0) == -EDEADLK);

    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, wait_for_condition, 0) == 0);
    for (long moved = 0; moved < THREADS;) {
        long result = call(SYS_futex, (long)&condition, FUTEX_CMP_REQUEUE_PI | FUTEX_PRIVATE_FLAG, 1, 100, (long)&word, 0);
        REQUIRE(result >= 0);
        moved += result;
        if (result == 0)
            usleep(200);
    }
    REQUIRE(futex(&word, FUTEX_UNLOCK_PI, 0, 0, 0) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], 0) == 0);
    REQUIRE(other == total + THREADS);
    report("inherited", other);
    return 0;
}
