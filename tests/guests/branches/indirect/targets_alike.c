// Calls through pointers to functions whose addresses have the low 20 bits in common, between system calls.
// rounds: 2 30
#include "guest.h"

#define FUNCTION(n) \
    static __attribute__((noinline, aligned(1048576))) uint64_t function##n(uint64_t x) { return (x ^ n) * (2 * n + 3); }
#define ALL(do) do(1) do(2) do(3) do(4) do(5) do(6)
#define NAME(n) function##n,

ALL(FUNCTION)

int main(int argc, char **argv)
{
    static uint64_t (*const functions[])(uint64_t) = {ALL(NAME)};
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(getppid() > 0);
        // Another one comes first each time, and some come in later rounds only.
        for (int i = 0; i < 600; i++)
            sum = functions[(round + i) % (round < 6 ? round + 1 : 6)](sum);
    }
    return report("targets", sum);
}
