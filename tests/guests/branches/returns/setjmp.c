// setjmp and longjmp over several frames: returns that no call matches.
// rounds: 20 1000000
#include "guest.h"
#include <setjmp.h>

static jmp_buf target;

static void __attribute__((noinline)) jump(int depth, int value)
{
    volatile int local = depth;
    if (depth > 0)
        jump(depth - 1, value);
    else if (value)
        longjmp(target, value);
    local++;
}

int main(int argc, char **argv)
{
    volatile uint64_t sum = 0;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        int value = setjmp(target);
        if (value == 0)
            jump(round % 9, round % 100 + 1);
        sum = mix(sum, value);
    }
    return report("setjmp", sum);
}
