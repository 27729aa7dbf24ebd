// The first thread ends while others live; the process ends with the last of them, and the kernel chooses between their statuses.
// build plain: -O1 -pthread
// rounds: 500 300000
// order: varies
#include "threads.h"

static int alive[3], to_last[2], from_last[2];
static long work;

static uint64_t compute(uint64_t sum)
{
    for (long i = 0; i < work; i++)
        sum = mix(sum, i);
    return sum;
}

static void *second(void *unused)
{
    live(&alive[1]);
    wait_for_end(&alive[0]);
    give(to_last, compute(2));
    return end_thread(8);
}

static void *last(void *unused)
{
    give(from_last, compute(1));
    uint64_t sum = take(to_last);
    wait_for_end(&alive[1]);
    report("last", compute(sum));
    fflush(stdout);
    return end_thread(9);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    REQUIRE(pipe(to_last) == 0 && pipe(from_last) == 0);
    live(&alive[0]);
    start(second, 0);
    start(last, 0);
    report("first", take(from_last));
    fflush(stdout);
    end_thread(7);
}
