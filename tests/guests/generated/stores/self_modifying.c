// Code that is written, run, overwritten and run again: on a writable and executable page, and with mprotect in between.
// rounds: 5 150
#include "guest.h"
#include <sys/mman.h>

typedef int (*function)(void);

// mov eax, n; ret
static void write_code(unsigned char *at, int n)
{
    at[0] = 0xb8;
    memcpy(at + 1, &n, 4);
    at[5] = 0xc3;
}

int main(int argc, char **argv)
{
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned char *both = mmap(0, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *either = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(both != MAP_FAILED && either != MAP_FAILED);
    uint64_t sum = 0;
    for (int round = 0; round < rounds(argc, argv); round++) {
        write_code(both, round);
        REQUIRE(((function)both)() == round);
        write_code(both, round + 1000);
        REQUIRE(((function)both)() == round + 1000);
        REQUIRE(mprotect(either, 4096, PROT_READ | PROT_WRITE) == 0);
        write_code(either, round * 3);
        REQUIRE(mprotect(either, 4096, PROT_READ | PROT_EXEC) == 0);
        int value = ((function)either)();
        REQUIRE(value == round * 3);
        sum = mix(sum, value);
    }
    return report("rewritten", sum);
}
