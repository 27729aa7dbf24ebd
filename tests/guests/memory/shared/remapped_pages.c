// Shared memory whose pages are mapped in another order all the time (remap_file_pages), some of them twice and some not at all, and written to through whatever shows them.
// rounds: 2 40
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

enum { PAGES = 12, PAGE = 4096 };

static char *memory;

// How much is computed depends on what is shown.
static uint64_t look(uint64_t sum)
{
    for (int page = 0; page < PAGES; page++) {
        uint64_t there = *(volatile uint64_t *)(memory + page * PAGE);
        sum = mix(sum, there);
        for (uint64_t n = there % 20; n > 0; n--)
            sum = mix(sum, n);
    }
    return sum;
}

static void show(int at, int pages, int first)
{
    REQUIRE(remap_file_pages(memory + at * PAGE, pages * PAGE, 0, first, 0) == 0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // Another object, of which nothing is ever mapped elsewhere; and one of which that is done later.
    uint64_t *other = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && other != MAP_FAILED);
    for (int page = 0; page < PAGES; page++)
        *(uint64_t *)(memory + page * PAGE) = mix(7, page);
    for (long round = 0; round < rounds(argc, argv); round++) {
        // Backwards, one after the other: half of them are mapped nowhere for a while.
        for (int page = 0; page < PAGES; page++) {
            show(page, 1, PAGES - 1 - page);
            *(uint64_t *)(memory + page * PAGE) += sum;
            sum = look(sum);
        }
        // Two at once, somewhere: many are mapped twice.
        for (int turn = 0; turn < 8; turn++) {
            show(sum % (PAGES - 1), 2, sum / PAGES % (PAGES - 1));
            *(uint64_t *)(memory + sum / 1000 % PAGES * PAGE) = sum;
            other[round % 2048] += sum;
            sum = look(mix(sum, other[sum % 2048]));
        }
        if (round % 3 == 0) {
            // What isn't its own is refused, as is what isn't shared.
            uint64_t there;
            REQUIRE(remap_file_pages(&there, PAGE, 0, 0, 0) == -1);
            REQUIRE(remap_file_pages(memory, PAGE, PROT_READ, 0, 0) == -1);
            REQUIRE(remap_file_pages((char *)other + PAGE, PAGE, 0, round % 4, 0) == 0);
        }
        // Some go, and come again.
        show(0, 1, 0);
        REQUIRE(munmap(memory + 3 * PAGE, 2 * PAGE) == 0);
        char *twin = mremap(memory, 0, PAGES * PAGE, MREMAP_MAYMOVE);
        REQUIRE(twin != MAP_FAILED && mremap(twin, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, memory + 3 * PAGE) != MAP_FAILED);
        sum = mix(sum, *(uint64_t *)(twin + 5 * PAGE));
        REQUIRE(munmap(twin + 2 * PAGE, (PAGES - 2) * PAGE) == 0);
        sum = look(sum);
        show(0, PAGES, 0);
        sum = look(sum);
    }
    // Many in a row, some of which are refused or start in the midst of a page, over memory that some were taken from to be read only.
    REQUIRE(mprotect(memory + 9 * PAGE, PAGE, PROT_READ) == 0);
    for (long turn = 0; turn < 100 * rounds(argc, argv); turn++) {
        char *at = memory + sum % 8 * PAGE + (turn % 5 == 0) * 40;
        long len = turn % 7 == 0 ? 2 * PAGE + 9 : PAGE;
        int protection = turn % 50 == 49 ? PROT_READ : 0;
        int result = remap_file_pages(at, len, protection, sum / 8 % (PAGES - 2), turn % 3 == 0 ? MAP_NONBLOCK : 0);
        REQUIRE(result == (protection ? -1 : 0));
        *(uint64_t *)(memory + sum / 100 % 8 * PAGE) += turn;
        sum = mix(sum, *(volatile uint64_t *)(memory + sum / 7 % PAGES * PAGE));
    }
    // It reaches into another mapping, which must be of the same kind.
    REQUIRE(remap_file_pages(memory + 8 * PAGE, 2 * PAGE, 0, 1, 0) == -1);
    REQUIRE(mprotect(memory + 9 * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    return report("remapped", sum);
}
