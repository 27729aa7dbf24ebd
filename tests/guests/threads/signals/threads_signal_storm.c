// A storm of signals to threads that wait for locks, bytes and time: what is to be restarted is, the rest says EINTR.
// build plain: -O1 -pthread
// rounds: 0 300
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

enum { THREADS = 5 };

static pthread_t threads[THREADS];
static atomic_long handled[THREADS], interrupted[THREADS];
static atomic_int started, ending, word;
static int ends[2], ends_restarted[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile int self;

static void handler(int signal)
{
    (void)signal;
    handled[self]++;
}

static long futex_wait(void)
{
    return syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0, 0, 0);
}

static void *thread(void *number)
{
    self = (uintptr_t)number;
    started++;
    char bytes[8];
    struct timespec minute = {60, 0};
    while (!ending) {
        long result = 0;
        switch (self) {
        case 0:
            result = read(ends[0], bytes, 1);
            break;
        case 1:
            result = clock_nanosleep(CLOCK_MONOTONIC, 0, &minute, 0) ? (errno = EINTR, -1) : 0;
            break;
        case 2:
            result = futex_wait();
            break;
        case 3: // restarted: never EINTR
            REQUIRE(read(ends_restarted[0], bytes, 1) == 1 && bytes[0] == 'r');
            return 0;
        case 4: // the library goes on by itself
            REQUIRE(pthread_mutex_lock(&lock) == 0);
            pthread_mutex_unlock(&lock);
            return 0;
        }
        if (result == -1 && errno == EINTR)
            interrupted[self]++;
        else
            REQUIRE(result == 0 || result == 1 || errno == EAGAIN);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, 0);
    REQUIRE(pipe(ends) == 0 && pipe(ends_restarted) == 0);
    pthread_mutex_lock(&lock);
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)i) == 0);
    while (started < THREADS)
        usleep(100);
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < THREADS; i++)
            pthread_kill(threads[i], i < 3 ? SIGUSR1 : SIGUSR2);
        if (round % 16 == 0)
            usleep(100);
    }
    for (int i = 0; i < 3; i++) // whoever waited was woken
        while (!interrupted[i]) {
            pthread_kill(threads[i], SIGUSR1);
            usleep(100);
        }
    ending = word = 1;
    REQUIRE(write(ends_restarted[1], "r", 1) == 1 && write(ends[1], "ab", 2) == 2);
    syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 9, 0, 0, 0);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++) {
        while (i == 1 && pthread_tryjoin_np(threads[1], 0)) {
            pthread_kill(threads[1], SIGUSR1);
            usleep(100);
        }
        if (i != 1)
            pthread_join(threads[i], 0);
        REQUIRE(handled[i] > 0 && interrupted[i] <= handled[i]);
    }
    puts("all woken");
    return 0;
}
