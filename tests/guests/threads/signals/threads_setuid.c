// The C library changes the user of all threads by a signal to each, whatever they are doing and however long they live.
// build plain: -O1 -pthread
// rounds: 0 30
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *compute(void *unused)
{
    volatile uint64_t sum = 0;
    while (!stop)
        sum = mix(sum, 1);
    return unused;
}

static void *sleeps(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *ends(void *unused) { return unused; }

static void *starts(void *unused)
{
    long count = 0;
    while (!stop) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, 0, ends, 0) == 0);
        if (count++ % 2)
            pthread_detach(thread);
        else
            pthread_join(thread, 0);
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *(*kinds[])(void *) = {compute, sleeps, sleeps, starts};
    pthread_t threads[4];
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], 0, kinds[i], 0) == 0);
    for (long round = 0; round < rounds(argc, argv); round++)
        REQUIRE(setuid(getuid()) == 0 && setresgid(getgid(), -1, -1) == 0);
    stop = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    puts("the same user");
    return 0;
}
