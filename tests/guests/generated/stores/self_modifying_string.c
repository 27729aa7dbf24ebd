// Code that repeated string instructions overwrite, in their middle: it was run before, in an earlier slice or in the same one.
// rounds: 1 20
#include "guest.h"
#include <sys/mman.h>

enum { BEFORE = 3000, LEN = 6000 };

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
    static unsigned char image[LEN];
    uint64_t sum = 0;
    for (int round = 0; round < rounds(argc, argv); round++) {
        unsigned char *code = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(code != MAP_FAILED);
        write_code(code + 4096, round);
        sum = mix(sum, ((function)(code + 4096))());
        for (int call = 0; call <= round % 3; call++)
            REQUIRE(getppid() > 0);
        // The string starts on the page before, and comes to the code later.
        write_code(image + 4096 - BEFORE, round + 1000);
        void *to = code + BEFORE, *from = image;
        long count = 4096;
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
        sum = mix(sum, ((function)(code + 4096))());
        // Stores that fault at once.
        to = code + 4096 + 8, count = 100;
        __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(sum) : "memory");
        code[4096 + 5] = 0xc3;
        sum = mix(sum, ((function)(code + 4096))());
        REQUIRE(munmap(code, 2 * 4096) == 0);
    }
    return report("overwritten", sum);
}
