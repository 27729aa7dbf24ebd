// Threads that compute, wait for each other, sleep, make many small calls, and wait in a read, all at the same time. Where the read gives a `!`, superpin has let the program go
// meanwhile: then nothing of it is there.
// build plain: -O1 -pthread
// totals: vary
#define _GNU_SOURCE
#include "bubble.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int ends, computes, sleeps, is_told;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static _Thread_local long own;

static void *compute(void *argument)
{
    own = (long)argument;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    uint64_t sum = 0;
    do
        for (int i = 0; i < 1000; i++)
            sum = mix(sum, i);
    while (computes++ < 10 || !ends);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, 0, &mask);
    return (void *)(own * 10 + sigismember(&mask, SIGUSR1));
}

static void *rest(void *argument)
{
    own = (long)argument;
    struct timespec second = {0, 3000000};
    do
        REQUIRE(nanosleep(&second, 0) == 0);
    while (sleeps++ < 3 || !ends);
    return (void *)(own * 10);
}

static void *call_often(void *argument)
{
    own = (long)argument;
    struct timespec pause = {0, 100000};
    do {
        for (int i = 0; i < 500; i++)
            REQUIRE(getppid() >= 0);
        REQUIRE(nanosleep(&pause, 0) == 0);
    } while (!ends);
    return (void *)(own * 10);
}

static void *wait_for(void *argument)
{
    own = (long)argument;
    pthread_mutex_lock(&mutex);
    while (!is_told)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return (void *)(own * 10);
}

int main(int argc, char **argv)
{
    void *(*const what[])(void *) = {compute, rest, wait_for, compute, call_often};
    (void)argv;
    enum { THREADS = sizeof what / sizeof *what };
    pthread_t threads[THREADS];
    char byte;
    for (intptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, what[i], (void *)(i + 1)) == 0);
    while (computes < 10 || sleeps < 3)
        sched_yield();
    if (argc > 2)
        fprintf(stderr, "ready %d\n", getpid());
    int given = read(0, &byte, 1);
    ends = 1;
    pthread_mutex_lock(&mutex);
    is_told = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        REQUIRE(pthread_join(threads[i], &result) == 0);
        printf("%ld\n", (long)result);
    }
    if (given == 1 && byte == '!')
        printf("left %d\n", bubble_lines());
    return 6;
}
