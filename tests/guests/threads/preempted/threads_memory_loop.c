// Threads that compute at the same time, each in a loop that changes one word of memory and no register: where a turn ends only memory tells.
// build apart: -O1 -pthread
// build stack: -O1 -pthread -DON_STACK
// rounds: 300 30000000
// order: varies
#include "threads.h"

enum { THREADS = 3 };

static int alive[THREADS + 1], begun[2];
static uint64_t counted[THREADS + 1];
static long work;

#ifndef ON_STACK
// Far apart from what registers point to.
static struct {
    uint64_t word, others[2048];
} words[THREADS + 1];
#endif

static void *count(void *number)
{
    uintptr_t self = (uintptr_t)number;
    live(&alive[self]);
    give(begun, self);
#ifdef ON_STACK
    uint64_t word = 0;
    uint64_t *counter = &word;
#else
    uint64_t *counter = &words[self].word;
#endif
    __asm__ volatile("1: addq $1, (%0)\n\tcmpq %1, (%0)\n\tjne 1b" : : "r"(counter), "r"(work) : "memory", "cc");
    counted[self] = *counter;
    return end_thread(0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    work = rounds(argc, argv);
    REQUIRE(pipe(begun) == 0);
    for (int i = 1; i <= THREADS; i++)
        start(count, i);
    for (int i = 1; i <= THREADS; i++)
        sum += take(begun);
    for (int i = 1; i <= THREADS; i++)
        wait_for_end(&alive[i]);
    for (int i = 1; i <= THREADS; i++)
        sum = mix(sum, counted[i]);
    report("counted", sum);
    return 0;
}
