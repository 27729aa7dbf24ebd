// Threads that compute, wait for each other and send each other SIGFPE when no more signals may wait: all get their turns.
// build plain: -O1 -pthread
// rounds: 0 12
// warned: at least by chance
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { THREADS = 3 };

static pthread_t threads[THREADS];
static atomic_int stop;
static atomic_long got[THREADS];
static __thread volatile int self;
static sem_t done;

static void handler(int signal)
{
    REQUIRE(signal == SIGFPE);
    got[self]++;
    sem_post(&done);
}

static void *compute(void *number)
{
    self = (uintptr_t)number;
    got[self]++;
    for (volatile uint64_t sum = 0; !stop; sum = mix(sum, self)) {}
    return 0;
}

int main(int argc, char **argv)
{
    struct rlimit none = {0, 0};
    REQUIRE(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
    signal(SIGFPE, handler);
    sem_init(&done, 0, 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, compute, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        while (!got[i])
            usleep(100);
    for (long round = 0; round < rounds(argc, argv); round++) {
        pthread_kill(threads[round % THREADS], SIGFPE);
        while (sem_wait(&done)) {}
    }
    stop = 1;
    long sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], 0);
        sum += got[i];
    }
    printf("%ld\n", sum);
    return 0;
}
