// rdrand in generated code, where nobody foresees it: a slice must not go on with another value.
// build plain: -O1
// rounds: 0 300
// totals: vary
// needs: rdrand
// refused sliced: rdrand
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    memcpy(code, "\x48\x0f\xc7\xf0\xc3", 5); // rdrand %rax; ret
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (uint64_t i = ((uint64_t (*)(void))code)() % 1000; i > 0; i--)
            sum = mix(sum, i);
        sum = round;
    }
    return report("rounds", sum);
}
