// Mutexes, conditions, reader-writer locks, barriers, semaphores and thread-safe first calls.
// build plain: -O1 -pthread
// rounds: 0 400
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

enum { THREADS = 4 };

static long work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, robust, inheriting;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t reading = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t places;
static long counter, inherited, table[8], at_barrier[THREADS], firsts, inside;
static long queue[16], head, tail, taken;

static void first(void) { firsts++; }

static void put(long value)
{
    pthread_mutex_lock(&lock);
    while (head - tail == 16)
        pthread_cond_wait(&emptied, &lock);
    queue[head++ % 16] = value;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void take(void)
{
    pthread_mutex_lock(&lock);
    while (head == tail)
        pthread_cond_wait(&filled, &lock);
    taken += queue[tail++ % 16];
    pthread_cond_broadcast(&emptied);
    pthread_mutex_unlock(&lock);
}

static void *thread(void *argument)
{
    long self = (long)argument;
    for (long i = 0; i < work; i++) {
        pthread_once(&once, first);
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&inheriting);
        inherited++;
        pthread_mutex_unlock(&inheriting);
        if (i % THREADS == self) {
            pthread_rwlock_wrlock(&reading);
            for (int k = 0; k < 8; k++)
                table[k]++;
            pthread_rwlock_unlock(&reading);
        } else {
            pthread_rwlock_rdlock(&reading);
            for (int k = 1; k < 8; k++)
                REQUIRE(table[k] == table[0]);
            pthread_rwlock_unlock(&reading);
        }
        sem_wait(&places);
        long now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        REQUIRE(now <= 2);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        sem_post(&places);
        if (self % 2)
            put(i);
        else
            take();
        if (i % 8 == 0) {
            at_barrier[self] = i;
            pthread_barrier_wait(&barrier);
            for (int k = 0; k < THREADS; k++)
                REQUIRE(at_barrier[k] == i);
            pthread_barrier_wait(&barrier);
        }
    }
    return 0;
}

static void *dies_with_lock(void *unused)
{
    pthread_mutex_lock(&robust);
    return unused;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    pthread_barrier_init(&barrier, 0, THREADS);
    sem_init(&places, 0, 2);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inheriting, &attributes);
    pthread_t threads[THREADS], dying;
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    REQUIRE(pthread_create(&dying, 0, dies_with_lock, 0) == 0);
    pthread_join(dying, 0);
    REQUIRE(pthread_mutex_lock(&robust) == EOWNERDEAD);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    REQUIRE(pthread_cond_timedwait(&filled, &lock, &until) == ETIMEDOUT);
    printf("%ld %ld %ld %ld %ld\n", counter, inherited, table[0], taken, firsts);
    return 0;
}
