// Code on a writable page whose constant changes all the time, in a loop without system calls.
// rounds: 20 3000
#include "guest.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    static const unsigned char body[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3}; // lea eax, [rdi + n]; ret
    memcpy(code, body, sizeof body);
    uint64_t sum = 0;
    for (int round = 0; round < rounds(argc, argv); round++) {
        memcpy(code + 2, &round, 4);
        for (int i = 0; i < 10; i++) {
            int value = ((int (*)(int))code)(i);
            REQUIRE(value == round + i);
            sum = mix(sum, value);
        }
    }
    return report("hot", sum);
}
