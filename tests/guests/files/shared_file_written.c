// Shared mappings of a file, for reading only and for both, show at once what is written to the file by calls, as databases do it.
// rounds: 2 60
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGES = 4 };

static uint64_t read_all(const volatile uint64_t *words, uint64_t sum)
{
    // How much is computed depends on what the mapping shows.
    for (int i = 0; i < PAGES * 512; i += 64)
        for (uint64_t n = words[i] % 500; n > 0; n--)
            sum = mix(sum, n);
    return sum;
}

int main(int argc, char **argv)
{
    int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600), reading = open("data", O_RDONLY);
    REQUIRE(fd >= 0 && reading >= 0 && ftruncate(fd, PAGES * 4096) == 0);
    uint64_t *seen = mmap(0, PAGES * 4096, PROT_READ, MAP_SHARED, reading, 0);
    uint64_t *both = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(seen != MAP_FAILED && both != MAP_FAILED);
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int turn = 0; turn < 6; turn++) {
            uint64_t fresh = mix(sum, turn);
            REQUIRE(pwrite(fd, &fresh, 8, (round * 6 + turn) * 512 % (PAGES * 4096)) == 8);
            sum = read_all(seen, sum);
        }
        both[round * 64 % (PAGES * 512)] = sum;
        sum = read_all(seen, sum);
        uint64_t from_file;
        REQUIRE(pread(reading, &from_file, 8, round * 512 % (PAGES * 4096)) == 8);
        sum = mix(sum, from_file);
    }
    return report("seen", sum);
}
