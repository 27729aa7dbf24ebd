// The heap grown and shrunk by brk and sbrk; what is given back comes back as zeros.
// rounds: 3 60
#define _DEFAULT_SOURCE
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    char *start = sbrk(0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        size_t size = (round % 7 + 1) * 10000;
        REQUIRE(sbrk(size) != (void *)-1);
        for (size_t i = 0; i < size; i += 512) {
            sum = mix(sum, start[i]);
            start[i] = (char)(i >> 9);
        }
        sum = mix(sum, (char *)sbrk(0) - start);
        REQUIRE(brk(start) == 0);
    }
    return report("brk", sum);
}
