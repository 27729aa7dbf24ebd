// x87 arithmetic in long double, with a changed control word.
// build plain: -O1 -lm
// rounds: 5 30000
#include "guest.h"
#include <math.h>

int main(int argc, char **argv)
{
    long double x = 1.0L, y = 0.3L;
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        unsigned short control = round & 1 ? 0x0f7f : 0x037f, old;
        __asm__ volatile("fnstcw %0\n\tfldcw %1" : "=m"(old) : "m"(control));
        for (int i = 0; i < 60; i++) {
            x = x * y + (long double)i / 7;
            y = sqrtl(fabsl(y)) + 0.001L * i;
            if (x > 1e100L)
                x = 1;
        }
        __asm__ volatile("fldcw %0" : : "m"(old));
        uint64_t low;
        memcpy(&low, &x, 8);
        sum = mix(sum, low);
    }
    printf("%.10Lg %.10Lg\n", x, y);
    return report("x87", sum);
}
