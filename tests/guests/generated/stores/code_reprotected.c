// A function is rewritten byte by byte and called each time, and its page is made writable before and unwritable after that, thousands of times.
// Each time its translation is dropped, and the branch that calls it is an old one.
// rounds: 1 30
#include "guest.h"
#include <sys/mman.h>

enum { PAGE = 4096, TIMES = 100, STORES = 64, AT = 1024 };

static const int WRITABLE = PROT_READ | PROT_WRITE | PROT_EXEC;

int main(int argc, char **argv)
{
    volatile unsigned char *page = mmap(0, PAGE, WRITABLE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    const unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, 0; ret */
    for (size_t n = 0; n < sizeof code; n++)
        page[n] = code[n];
    int (*function)(void) = (int (*)(void))page;
    uint64_t sum = 0;
    for (long n = 0; n < rounds(argc, argv) * TIMES; n++) {
        REQUIRE(!mprotect((void *)page, PAGE, WRITABLE));
        for (int store = 0; store < STORES; store++) {
            page[AT + store * 16] ^= 0xff;
            /* Every eighth store is to the function itself. */
            if (store % 8 == 0)
                page[1 + store / 8 % 4]++;
            sum += (unsigned)function();
        }
        REQUIRE(!mprotect((void *)page, PAGE, PROT_READ | PROT_EXEC));
        sum = mix(sum, (unsigned)function());
    }
    return report("sum", sum);
}
