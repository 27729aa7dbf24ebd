// Signals come among short and long repeated string instructions, and in the midst of them.
// rounds: 0 20000
// totals: vary
#include "points.h"

static char from[1 << 16], to[1 << 16];

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, tick);
    every(OFTEN);
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        void *source = from, *target = to;
        size_t left = round % 7 ? 40 + (size_t)round % 50 : sizeof from;
        from[round % sizeof from] = round;
        __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(left) : : "memory");
        for (int i = 0; i < 200; i++)
            sum = mix(sum, to[round % 40] + i);
        left = sizeof to;
        source = from, target = to;
        __asm__ volatile("repe cmpsb" : "+S"(source), "+D"(target), "+c"(left) : : "memory", "cc");
        sum = mix(sum, left);
    }
    every(0);
    return report("strings", sum);
}
