// The first thread executes another program while others compute, wait and hold locks: they are gone then.
// build plain: -O1 -pthread
// rounds: 0 10
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *compute(void *unused)
{
    started++;
    for (volatile uint64_t sum = 0;; sum = mix(sum, 1)) {}
    return unused;
}

static void *waits(void *unused)
{
    started++;
    pthread_mutex_lock(&lock);
    return unused;
}

int main(int argc, char **argv)
{
    long left = rounds(argc, argv);
    printf("%ld\n", left);
    fflush(stdout);
    if (left == 0)
        return 17;
    pthread_mutex_lock(&lock);
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&thread, 0, i % 2 ? waits : compute, 0) == 0);
    while (started < 4)
        usleep(100);
    char text[24];
    snprintf(text, sizeof text, "%ld", left - 1);
    execl("/proc/self/exe", argv[0], text, (char *)0);
    return 1;
}
