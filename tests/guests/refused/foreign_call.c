// A 32-bit system call: counting is refused, the program itself must come to its right end.
// rounds: 0 3
// refused: int 0x80
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        long result = 20; // getpid there, writev here
        __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
        sum = mix(sum, result == getpid());
    }
    return report("foreign", sum);
}
