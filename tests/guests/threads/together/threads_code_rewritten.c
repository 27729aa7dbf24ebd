// Code that one thread rewrites again and again while others execute it.
// build plain: -O1 -pthread
// rounds: 0 300
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { THREADS = 3, FUNCTIONS = 8 };

static unsigned char *code;
static atomic_long version, stop;

// mov eax, value; ret, written so that the value is one aligned word.
static void write_function(int n, uint32_t value)
{
    unsigned char *at = code + n * 64 + 3;
    at[0] = 0xb8;
    __atomic_store_n((uint32_t *)(at + 1), value, __ATOMIC_RELEASE);
    at[5] = 0xc3;
}

static uint32_t call(int n)
{
    return ((uint32_t(*)(void))(uintptr_t)(code + n * 64 + 3))();
}

// What was written before is seen, and never something older than what was seen before.
static void *thread(void *argument)
{
    long calls = 0;
    uint32_t last[FUNCTIONS] = {0};
    while (!stop) {
        for (int n = 0; n < FUNCTIONS; n++) {
            uint32_t at_least = version;
            uint32_t now = call(n);
            REQUIRE(now >= at_least && now >= last[n]);
            last[n] = now;
            calls++;
        }
    }
    for (int n = 0; n < FUNCTIONS; n++)
        REQUIRE(call(n) == version);
    return (void *)(calls > 0 ? (uintptr_t)1 : (uintptr_t)argument);
}

int main(int argc, char **argv)
{
    long all = rounds(argc, argv);
    code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    for (int n = 0; n < FUNCTIONS; n++)
        write_function(n, 0);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)0) == 0);
    uint64_t sum = 0;
    for (long round = 1; round <= all; round++) {
        for (int n = 0; n < FUNCTIONS; n++)
            write_function(n, round);
        version = round;
        sum = mix(sum, call(round % FUNCTIONS));
        if (round % 32 == 0)
            usleep(50);
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    report("rewritten", sum);
    return 0;
}
