// Code that runs into another page, which alone is rewritten, often at first, then seldom.
// rounds: 3 90
#include "guest.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    unsigned char *code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    unsigned char *start = code + 4096 - 3;
    memcpy(start, "\x8d\x04\x3f\x05\0\0\0\0\xc3", 9); // lea eax, [rdi + rdi]; on the next page: add eax, n; ret
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint32_t n = round * 77;
        memcpy(start + 4, &n, 4);
        // After some thousand calls in which it stays the same the page is trusted again.
        long calls = round < 80 ? 2 : 6000;
        for (long i = 0; i < calls; i++) {
            uint32_t value = ((uint32_t(*)(int))start)(i);
            REQUIRE(value == 2 * i + n);
            sum = mix(sum, value);
        }
    }
    return report("across", sum);
}
