// rdrand at more places than the processor has breakpoints for, in a program that starts processes that use it as well.
// build plain: -O1
// rounds: 0 2000
// totals: vary
// needs: rdrand
#include "guest.h"
#include <sys/wait.h>

#define SOURCE(n)                                                                         \
    static __attribute__((noinline)) uint64_t source##n(void)                             \
    {                                                                                     \
        uint64_t random;                                                                  \
        unsigned char valid;                                                              \
        __asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(random), "=q"(valid) : : "cc");    \
        REQUIRE(valid);                                                                   \
        return random + n;                                                                \
    }
SOURCE(0) SOURCE(1) SOURCE(2) SOURCE(3) SOURCE(4) SOURCE(5) SOURCE(6) SOURCE(7)

static uint64_t (*const sources[])(void) = {source0, source1, source2, source3, source4, source5, source6, source7};

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (uint64_t i = sources[round % 8]() % 1000; i > 0; i--)
            sum = mix(sum, i);
        if (round % 500 == 7) {
            int status;
            pid_t child = fork();
            if (child == 0) {
                for (int n = 0; n < 8; n++)
                    sum += sources[n]();
                _exit(sum == 0);
            }
            REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        }
    }
    REQUIRE(sum != 0);
    return report("rounds", rounds(argc, argv));
}
