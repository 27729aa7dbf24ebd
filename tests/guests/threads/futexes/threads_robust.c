// Threads that end while they hold mutexes: the kernel marks these, and the next owner is told.
// build plain: -O1 -pthread
// rounds: 0 40
// totals: vary
#define _GNU_SOURCE
#include "threads.h"
#include <errno.h>

enum { MUTEXES = 3 };

static pthread_mutex_t mutexes[MUTEXES];
static int begun[2];
static long dead;

static void *hold(void *number)
{
    long last = (long)number;
    for (long i = 0; i <= last; i++)
        REQUIRE(pthread_mutex_lock(&mutexes[i]) == 0);
    give(begun, last);
    usleep(100);
    return 0;
}

static void *wait_for_dead(void *number)
{
    long self = (long)number;
    REQUIRE(pthread_mutex_lock(&mutexes[self]) == EOWNERDEAD);
    dead++;
    REQUIRE(pthread_mutex_consistent(&mutexes[self]) == 0 && pthread_mutex_unlock(&mutexes[self]) == 0);
    return 0;
}

static void make(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    REQUIRE(pthread_mutexattr_init(&attributes) == 0 && pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
    REQUIRE(pthread_mutex_init(mutex, &attributes) == 0);
}

int main(int argc, char **argv)
{
    REQUIRE(pipe(begun) == 0);
    long work = rounds(argc, argv);
    for (long i = 0; i < MUTEXES; i++)
        make(&mutexes[i]);
    for (long round = 0; round < work; round++) {
        pthread_t holder, waiter;
        long last = round % MUTEXES;
        REQUIRE(pthread_create(&holder, 0, hold, (void *)last) == 0);
        take(begun);
        REQUIRE(pthread_create(&waiter, 0, wait_for_dead, (void *)last) == 0);
        REQUIRE(pthread_join(holder, 0) == 0 && pthread_join(waiter, 0) == 0);
        for (long i = 0; i < last; i++) {
            REQUIRE(pthread_mutex_trylock(&mutexes[i]) == EOWNERDEAD);
            REQUIRE(pthread_mutex_consistent(&mutexes[i]) == 0 && pthread_mutex_unlock(&mutexes[i]) == 0);
        }
    }
    REQUIRE(dead == work);
    // Nobody makes it right: it can't be had any more.
    pthread_t holder;
    REQUIRE(pthread_create(&holder, 0, hold, 0) == 0 && pthread_join(holder, 0) == 0);
    REQUIRE(pthread_mutex_lock(&mutexes[0]) == EOWNERDEAD && pthread_mutex_unlock(&mutexes[0]) == 0);
    REQUIRE(pthread_mutex_lock(&mutexes[0]) == ENOTRECOVERABLE);
    report("robust", dead);
    return 0;
}
