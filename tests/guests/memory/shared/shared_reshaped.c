// Shared memory that is advised away, mapped twice by mremap, grown and written through each mapping.
// rounds: 2 200
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

enum { WORDS = 1024 };

static int turns;

static uint64_t scramble(uint64_t *words, uint64_t sum)
{
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < WORDS; i++)
            words[i] = sum = mix(sum, words[(i * 7 + turn) % WORDS]);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    long times = rounds(argc, argv);
    turns = times < 40 ? times : 40;
    uint64_t *kept = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(kept != MAP_FAILED);
    for (long round = 0; round < times; round++) {
        uint64_t *fresh = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(fresh != MAP_FAILED);
        sum = scramble(fresh, scramble(kept, sum));
        // Shared memory keeps what it holds.
        REQUIRE(madvise(fresh, WORDS * 8, MADV_DONTNEED) == 0 && madvise(kept, WORDS * 8, MADV_DONTNEED) == 0);
        sum = scramble(fresh, mix(sum, kept[round % WORDS]));
        uint64_t *twin = mremap(kept, 0, WORDS * 8, MREMAP_MAYMOVE);
        REQUIRE(twin != MAP_FAILED && twin != kept);
        twin[5] = sum;
        sum = scramble(twin, mix(sum, kept[5]));
        kept[6] = sum;
        sum = scramble(kept, mix(sum, twin[6]));
        REQUIRE(munmap(twin, WORDS * 8) == 0 && munmap(fresh, WORDS * 8) == 0);
    }
    return report("reshaped", sum);
}
