// Threads that spin for each other without a system call, a pause or a yield.
// build plain: -O1 -pthread
// rounds: 0 20
// warned: at least by chance
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_long turn;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static long work, total;

static void *thread(void *argument)
{
    long self = (long)argument;
    for (long i = 0; i < work; i++) {
        while (turn % 3 != self) {}
        turn++;
    }
    for (long i = 0; i < 1000; i++) {
        while (atomic_flag_test_and_set(&lock)) {}
        total++;
        atomic_flag_clear(&lock);
    }
    return 0;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)(i + 1)) == 0);
    thread(0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%ld %ld\n", (long)turn, total);
    return 0;
}
