// A leaf function that keeps its values below the stack pointer.
// build fast: -O1
// rounds: 50 2000000
#include "guest.h"

static uint64_t __attribute__((noinline)) leaf(uint64_t x)
{
    volatile uint64_t below[12]; // fits the 128 bytes that the ABI allows below rsp
    for (int i = 0; i < 12; i++)
        below[i] = x * (i + 1);
    uint64_t sum = 0;
    for (int i = 11; i >= 0; i--)
        sum = sum * 31 + below[i];
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++)
        sum = mix(sum, leaf(sum));
    return report("red zone", sum);
}
