// Code in more than a dozen places that lie terabytes apart, called in turns.
// rounds: 3 3000
#define _GNU_SOURCE
#include "guest.h"
#include <string.h>
#include <sys/mman.h>

#define PLACES 14

int main(int argc, char **argv)
{
    int (*code[PLACES])(void);
    for (int i = 0; i < PLACES; i++) {
        // The same offset in each: only high bits tell these addresses apart.
        void *wanted = (void *)((((uint64_t)i * 3 + 1) << 40) + 0x12345000);
        unsigned char *at = mmap(wanted, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        REQUIRE(at == wanted);
        // mov $i, %eax; ret
        unsigned char bytes[] = {0xb8, i, 0, 0, 0, 0xc3};
        memcpy(at, bytes, sizeof bytes);
        REQUIRE(mprotect(at, 4096, PROT_READ | PROT_EXEC) == 0);
        code[i] = (int (*)(void))at;
    }
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int i = 0; i < PLACES; i++) {
            int found = code[(i * 5 + round) % PLACES]();
            REQUIRE(found == (i * 5 + round) % PLACES);
            sum = mix(sum, found);
        }
    return report("apart", sum);
}
