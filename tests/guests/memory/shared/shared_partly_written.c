// Shared memory of which a little is written at a time, also with zeroes again, that can't be read now and then, or of which only a part is mapped.
// rounds: 1 40
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { CHUNK = 64 << 10, CHUNKS = 24, SIZE = CHUNK * CHUNKS };

// A few words of a page, and then for a while nothing but the processor's own.
static uint64_t touch(unsigned char *at, uint64_t sum)
{
    uint64_t *words = (uint64_t *)at;
    for (int i = 0; i < 512; i += 61)
        words[i] = sum = mix(sum, words[i]);
    for (int i = 0; i < 1000; i++)
        sum = mix(sum, i);
    return sum;
}

// Writes to half of the file, mapped from `from` on, if only for that.
static uint64_t other_part(int fd, long from, uint64_t sum)
{
    unsigned char *part = mmap(0, SIZE / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
    REQUIRE(part != MAP_FAILED);
    sum = touch(part + 4096, sum);
    REQUIRE(munmap(part, SIZE / 2) == 0);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    long times = rounds(argc, argv);
    int turns = times < 10 ? 5 * times : 50;
    int fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, SIZE) == 0);
    unsigned char *nameless = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned char *file = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(nameless != MAP_FAILED && file != MAP_FAILED);
    for (long round = 0; round < times; round++) {
        long chunk = round * 7 % CHUNKS;
        for (int turn = 0; turn < turns; turn++) {
            sum = touch(nameless + chunk * CHUNK + turn % 16 * 4096, sum);
            sum = touch(file + (CHUNKS - 1 - chunk) * CHUNK + turn % 16 * 4096, sum);
        }
        memset(nameless + (round * 5 + 3) % CHUNKS * CHUNK, 0, CHUNK);
        // It holds what it held, whoever may see it, also where a slice begins meanwhile.
        int kinds[] = {PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE};
        for (int kind = 0; kind < 4; kind++) {
            REQUIRE(mprotect(nameless, SIZE, kinds[kind]) == 0);
            for (int i = 0; i < 200 * turns; i++)
                sum = mix(sum, i);
            if (round % 4 == kind)
                sum = other_part(fd, round % 5 * 3 * 4096, sum);
        }
        for (int i = 0; i < SIZE; i += 4096)
            sum = mix(sum, nameless[i] + file[i]);
        // All is mapped again, which was written through the other mapping.
        REQUIRE(munmap(file, SIZE) == 0);
        sum = other_part(fd, round % 7 * 5 * 4096, sum);
        file = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(file != MAP_FAILED);
    }
    return report("shared", sum);
}
