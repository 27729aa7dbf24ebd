// A function in a page of the program's own file, and one in a page of memory, are rewritten between two calls that change the page's protection, hundreds of times each,
// with nothing else in between. Then all the ways in which such a call differs from those before: another range, a part of a page, no access at all, what can't be
// done, other calls in between, and other memory at the same place.
// rounds: 0 2
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/mman.h>

enum { PAGE = 4096, TIMES = 300, ALL = PROT_READ | PROT_WRITE | PROT_EXEC, CODE = PROT_READ | PROT_EXEC };

// A page of its own, with code that nobody else executes.
__asm__(".section .text.own_page, \"ax\", @progbits\n"
        ".balign 4096\n"
        "own_page: mov $1, %eax\n"
        "ret\n"
        ".balign 4096\n"
        ".text\n");
extern unsigned char own_page[];

static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov eax, 1; ret */

static uint64_t call(volatile unsigned char *page)
{
    return (unsigned)((int (*)(void))page)();
}

static uint64_t rewrite(volatile unsigned char *page, int times, uint64_t sum)
{
    for (int n = 0; n < times; n++) {
        if (mprotect((void *)page, PAGE, ALL))
            return 0;
        page[1 + n % 4] += 1 + n % 3;
        page[2000]++;
        sum = mix(sum, call(page));
        if (mprotect((void *)page, PAGE, CODE))
            return 0;
        sum = mix(sum, call(page) + page[2000]);
    }
    return sum;
}

static volatile unsigned char *fresh(void *at)
{
    volatile unsigned char *page = mmap(at, 2 * PAGE, ALL, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    REQUIRE(page != MAP_FAILED);
    memcpy((void *)page, code, sizeof code);
    memcpy((void *)(page + PAGE), code, sizeof code);
    return page;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    volatile unsigned char *page = fresh(0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE((sum = rewrite(own_page, TIMES, sum)));
        REQUIRE((sum = rewrite(page, TIMES, sum)));
        /* Other memory there. */
        page = fresh((void *)page);
        REQUIRE((sum = rewrite(page, TIMES / 4, sum)));
        /* Other calls in between. */
        for (int n = 0; n < TIMES / 4; n++) {
            REQUIRE((sum = rewrite(page, 1, sum)));
            sum = mix(sum, getppid() > 0);
        }
        REQUIRE((sum = rewrite(page, TIMES / 4, sum)));
        /* Both pages, a part of one, and what lies in no page of it. */
        for (int n = 0; n < TIMES / 4; n++) {
            REQUIRE(!mprotect((void *)page, n % 2 ? 2 * PAGE : 100, ALL));
            page[PAGE + 1]++;
            sum = mix(sum, call(page + PAGE));
            REQUIRE(!mprotect((void *)page, PAGE - n % 2, CODE));
            sum = mix(sum, call(page));
            REQUIRE(mprotect((void *)(page + 1), PAGE, ALL) == -1 && errno == EINVAL);
            REQUIRE(mprotect((void *)page, PAGE, 0x40) == -1 && errno == EINVAL);
        }
        /* No access, or none to execute. */
        for (int n = 0; n < TIMES / 4; n++) {
            REQUIRE(!mprotect((void *)page, PAGE, PROT_NONE) && !mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE));
            page[1] = n;
            sum = mix(sum, page[1]);
            REQUIRE(!mprotect((void *)page, PAGE, CODE));
            sum = mix(sum, call(page));
        }
        /* The second page is gone. */
        REQUIRE(!munmap((void *)(page + PAGE), PAGE));
        for (int n = 0; n < TIMES / 4; n++) {
            REQUIRE(mprotect((void *)page, 2 * PAGE, n % 2 ? ALL : PROT_READ) == -1 && errno == ENOMEM);
            sum = mix(sum, page[1]);
            if (n % 2)
                page[1]++;
        }
        page = fresh((void *)page);
    }
    return report("sum", sum);
}
