// A thread that isn't the first ends the process while others compute, wait and start more: its status counts, and what is to be done at the end is.
// build plain: -O1 -pthread
// rounds: 0 1
// totals: vary
#include "guest.h"
#include <pthread.h>

static void at_end(void) { puts("at the end"); }
static void *ends(void *unused) { return unused; }

static void *compute(void *unused)
{
    for (volatile uint64_t sum = 0;; sum = mix(sum, 1)) {}
    return unused;
}

static void *starts(void *unused)
{
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, 0, ends, 0) == 0)
            pthread_join(thread, 0);
    }
    return unused;
}

static void *exits(void *unused)
{
    usleep(20000);
    exit(41);
    return unused;
}

int main(int argc, char **argv)
{
    void *(*kinds[])(void *) = {compute, starts, exits};
    pthread_t thread;
    REQUIRE(rounds(argc, argv) == 1);
    atexit(at_end);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&thread, 0, kinds[i], 0) == 0);
    pause();
    return 1;
}
