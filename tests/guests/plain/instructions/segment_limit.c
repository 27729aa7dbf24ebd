// Reads the limit of the segment in which the kernel keeps the processor's number: another value on another processor.
// rounds: 0 1
// totals: vary
// refused sliced: lsl
#include "guest.h"

int main(void)
{
    unsigned limit = 0;
    for (volatile int i = 0; i < 1000; i++)
        __asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(0x7b));
    uint64_t sum = 0;
    for (unsigned n = 0; n < (limit & 0xfff); n++)
        sum = mix(sum, n) | 1;
    return report("limit", sum & 0);
}
