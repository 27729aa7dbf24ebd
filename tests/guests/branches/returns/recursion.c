// Deep and mutual recursion: returns through many levels.
// rounds: 1 2000
#include "guest.h"

static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static int is_odd(unsigned n);
static int __attribute__((noinline)) is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
static int __attribute__((noinline)) is_odd(unsigned n) { return n != 0 && is_even(n - 1); }

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = mix(sum, ackermann(2, 40 + round % 5));
        sum = mix(sum, is_even(1000 + round));
    }
    return report("recursion", sum);
}
