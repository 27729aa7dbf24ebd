// Signals to the process go to a thread that doesn't block them, or to one that waits for them.
// build plain: -O1 -pthread
// rounds: 0 24
// totals: vary
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static pthread_t open_one;
static sem_t handled, waited, ready;
static volatile sig_atomic_t handlers;

static void handler(int signal)
{
    REQUIRE(signal == SIGUSR1 && pthread_equal(pthread_self(), open_one));
    handlers++;
    sem_post(&handled);
}

static sigset_t set_of(int a, int b)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, a);
    sigaddset(&set, b);
    return set;
}

// The only thread that doesn't block SIGUSR1.
static void *takes(void *unused)
{
    sigset_t set = set_of(SIGUSR1, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    sem_post(&ready);
    for (;;)
        pause();
    return unused;
}

static void *waits(void *count)
{
    sigset_t set = set_of(SIGUSR2, SIGRTMIN + 3);
    long values = 0;
    for (long i = 0; i < (long)(uintptr_t)count; i++) {
        siginfo_t info;
        int signal = sigwaitinfo(&set, &info);
        if (signal == SIGRTMIN + 3)
            values += info.si_value.sival_int;
        else
            REQUIRE(signal == SIGUSR2);
        sem_post(&waited);
    }
    struct timespec soon = {0, 1000000};
    REQUIRE(sigtimedwait(&set, 0, &soon) == -1 && errno == EAGAIN);
    return (void *)values;
}

static void *computes(void *stop)
{
    uint64_t sum = 0;
    while (!*(volatile int *)stop)
        sum = mix(sum, 1);
    return (void *)(sum | 1);
}

int main(int argc, char **argv)
{
    long all = rounds(argc, argv);
    int stop = 0;
    sigset_t blocked;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    sem_init(&handled, 0, 0);
    sem_init(&waited, 0, 0);
    sem_init(&ready, 0, 0);
    pthread_t waiting, computing;
    REQUIRE(pthread_create(&computing, 0, computes, &stop) == 0);
    REQUIRE(pthread_create(&waiting, 0, waits, (void *)(2 * all)) == 0);
    REQUIRE(pthread_create(&open_one, 0, takes, 0) == 0);
    sem_wait(&ready);
    for (long round = 0; round < all; round++) {
        kill(getpid(), SIGUSR1);
        sem_wait(&handled);
        kill(getpid(), SIGUSR2);
        sem_wait(&waited);
        sigqueue(getpid(), SIGRTMIN + 3, (union sigval){round});
        sem_wait(&waited);
    }
    void *values;
    pthread_join(waiting, &values);
    stop = 1;
    pthread_join(computing, 0);
    printf("%d handled, %ld\n", (int)handlers, (long)values);
    return 0;
}
