// Threads that are cancelled, at calls and anywhere, with cleanup handlers and destructors of their values.
// build plain: -O1 -pthread -fexceptions
// rounds: 0 12
// warned: at least by chance
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { KINDS = 6 };

static atomic_long cleaned, destroyed;
static pthread_key_t key;
static sem_t ready, never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ends[2];

static void clean(void *by) { cleaned += (uintptr_t)by; }
static void destroy(void *by) { destroyed += (uintptr_t)by; }
static void unlock(void *mutex)
{
    REQUIRE(pthread_mutex_unlock(mutex) == 0);
    cleaned += 1000;
}

static void *thread(void *kind)
{
    volatile uint64_t sum = 0;
    char byte;
    pthread_setspecific(key, (void *)((uintptr_t)kind + 1));
    pthread_cleanup_push(clean, (void *)((uintptr_t)kind + 1));
    switch ((uintptr_t)kind) {
    case 0:
        sem_post(&ready);
        sleep(60);
        break;
    case 1:
        sem_post(&ready);
        REQUIRE(read(ends[0], &byte, 1) < 0);
        break;
    case 2: // the handler has the lock again
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(unlock, &lock);
        sem_post(&ready);
        for (;;)
            pthread_cond_wait(&condition, &lock);
        pthread_cleanup_pop(0);
        break;
    case 3:
        sem_post(&ready);
        sem_wait(&never);
        break;
    case 4: // anywhere
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
        sem_post(&ready);
        for (;;)
            sum = mix(sum, 1);
        break;
    case 5: // not before it allows that
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
        sem_post(&ready);
        usleep(100);
        cleaned += 100000;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
        for (;;)
            pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_key_create(&key, destroy);
    sem_init(&ready, 0, 0);
    sem_init(&never, 0, 0);
    REQUIRE(pipe(ends) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        pthread_t threads[KINDS];
        for (uintptr_t i = 0; i < KINDS; i++) {
            REQUIRE(pthread_create(&threads[i], 0, thread, (void *)i) == 0);
            sem_wait(&ready);
        }
        if (round % 2)
            usleep(200); // they wait by now
        for (int i = 0; i < KINDS; i++)
            REQUIRE(pthread_cancel(threads[(i + round) % KINDS]) == 0);
        for (int i = 0; i < KINDS; i++) {
            void *value;
            REQUIRE(pthread_join(threads[i], &value) == 0 && value == PTHREAD_CANCELED);
        }
    }
    printf("%ld %ld\n", (long)cleaned, (long)destroyed);
    return 0;
}
