// Signals come in a recursion, at any depth.
// rounds: 0 34
// totals: vary
#include "points.h"

static __attribute__((noinline)) uint64_t fibonacci(long n)
{
    return n < 2 ? (uint64_t)n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, tick);
    every(OFTEN);
    uint64_t sum = fibonacci(rounds(argc, argv));
    every(VERY_OFTEN);
    sum += fibonacci(rounds(argc, argv));
    every(0);
    return report("fibonacci", sum);
}
