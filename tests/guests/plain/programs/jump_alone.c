// A block that is one jump. What takes time is the block before, so that a slice is likely to end at the jump.
// rounds: 2 2000
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t times = 1000 + (round & 1);
        asm volatile("1: dec %0\n"
                     "pause\n"
                     "jz 2f\n"
                     "jmp 1b\n"
                     "2:"
                     : "+r"(times)::"cc");
        sum = mix(sum, times);
    }
    return report("jump_alone", sum);
}
