// Maps code at address 0, if it may, and calls it and other code in turns.
// rounds: 3 300
#define _GNU_SOURCE
#include "guest.h"
#include <string.h>
#include <sys/mman.h>

static __attribute__((noinline)) long one(void) { return 1; }
static __attribute__((noinline)) long two(void) { return 2; }
static __attribute__((noinline)) long three(void) { return 3; }

int main(int argc, char **argv)
{
    long (*volatile functions[])(void) = {one, two, three};
    uint64_t sum = functions[0]();
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    char *zero = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    // Most systems allow that to nobody, or to the privileged.
    if (zero == MAP_FAILED)
        return report("zero", 0);
    // mov $1000, %eax; ret. The compiler isn't to see that the address is 0.
    static const unsigned char code[] = {0xb8, 0xe8, 3, 0, 0, 0xc3};
    __asm__ volatile("" : "+r"(zero));
    memcpy(zero, code, sizeof code);
    REQUIRE(mprotect(zero, 4096, PROT_READ | PROT_EXEC) == 0);
    long (*volatile at_zero)(void) = (long (*)(void))zero;
    for (long round = 0; round < rounds(argc, argv); round++) {
        // Another one comes first each time.
        for (int i = 0; i < 3; i++)
            REQUIRE(functions[(round + i) % 3]() == (round + i) % 3 + 1);
        sum = mix(sum, at_zero());
    }
    return report("zero", sum);
}
