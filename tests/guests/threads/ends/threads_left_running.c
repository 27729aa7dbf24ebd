// The first thread returns from main while others compute without end.
// build plain: -O1 -pthread
// rounds: 0 3000000
// warned: at least by chance
// totals: vary
#include "threads.h"

static int begun[2];

static void *compute_for_ever(void *number)
{
    uint64_t sum = (uintptr_t)number;
    give(begun, sum);
    for (;;)
        __asm__ volatile("" : "+r"(sum));
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    REQUIRE(pipe(begun) == 0);
    for (int i = 1; i <= 3; i++)
        start(compute_for_ever, i);
    for (int i = 1; i <= 3; i++)
        sum += take(begun);
    for (long i = rounds(argc, argv); i > 0; i--)
        sum = mix(sum, i);
    report("running", sum);
    return 6;
}
