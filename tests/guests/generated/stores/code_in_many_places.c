// Code on pages far from each other, at their ends with nothing behind them, that is made writable, changed and executed again and again, and locked in memory meanwhile.
// rounds: 2 40
#include "guest.h"
#include <sys/mman.h>

enum { PAGES = 24, PAGE = 4096, LEN = 6 };

static unsigned char *page_of(long n)
{
    return (unsigned char *)(0x100000000000 + n * 0x540000000);
}

static void write_code(unsigned char *code, int value)
{
    code[0] = 0xb8; // mov $value, %eax; ret
    memcpy(code + 1, &value, sizeof value);
    code[5] = 0xc3;
}

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    for (long n = 0; n < PAGES; n++) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        REQUIRE(mmap(page_of(n), PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == page_of(n));
    }
    uint64_t sum = 1;
    for (long round = 0; round < amount; round++)
        for (long n = 0; n < PAGES; n++) {
            unsigned char *page = page_of(n), *code = page + PAGE - LEN;
            REQUIRE(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
            write_code(code, round * PAGES + n);
            REQUIRE(mlock(page, PAGE) == 0);
            REQUIRE(mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0);
            REQUIRE(munlock(page, PAGE) == 0);
            int got = ((int (*)(void))code)();
            REQUIRE(got == round * PAGES + n);
            sum = mix(sum, got);
        }
    for (long n = 0; n < PAGES; n++)
        REQUIRE(munmap(page_of(n), PAGE) == 0);
    return report("called", sum);
}
