// Indirect calls to places that are one byte apart, and two, and three: each comes to its own.
// rounds: 3 2000
#include "guest.h"

#define LENGTH 64
// Instructions of one byte, each of which writes one.
extern char sled[];
__asm__(".text\n.globl sled\nsled: .fill 64, 1, 0xaa\nret\n");

static long written(int start, int step)
{
    static char bytes[LENGTH];
    char *at = bytes;
    __asm__ volatile("sub $128, %%rsp\ncall *%2\nadd $128, %%rsp" : "+D"(at) : "a"(step), "r"(sled + start) : "memory", "cc");
    return at - bytes + bytes[0];
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int step = 1; step < 4; step++)
            for (int start = 0; start < LENGTH; start += step) {
                long count = written(start, step);
                REQUIRE(count == LENGTH - start + step);
                sum = mix(sum, count);
            }
    return report("abutting", sum);
}
