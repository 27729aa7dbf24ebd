// Threads that change the same words without a lock, for longer than a turn: which changes are lost depends on where turns end, the number of instructions doesn't.
// build plain: -O1 -pthread
// rounds: 0 8000000
// order: varies
#include "threads.h"

enum { THREADS = 3, WORDS = 4 };

static volatile uint64_t shared[WORDS];
static volatile long left[THREADS];
static int alive[THREADS], begun[2];
static long work;

static void *race(void *number)
{
    long me = (long)number;
    live(&alive[me]);
    give(begun, me);
    // In memory: registers are the same in each round.
    for (left[me] = work; left[me] > 0; left[me]--)
        shared[left[me] % WORDS]++;
    return end_thread(0);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    REQUIRE(pipe(begun) == 0);
    for (long i = 0; i < THREADS; i++)
        start(race, i);
    for (int i = 0; i < THREADS; i++)
        take(begun);
    for (int i = 0; i < THREADS; i++)
        wait_for_end(&alive[i]);
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum += shared[i];
    REQUIRE(sum > 0 && sum <= (uint64_t)(THREADS * work));
    return report("raced", 0);
}
