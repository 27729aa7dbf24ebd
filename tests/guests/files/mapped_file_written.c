// A private mapping of a file that is written afterwards: pages not yet touched show the new contents, the others don't.
// rounds: 2 60
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGES = 16 };

int main(int argc, char **argv)
{
    int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600), reading = open("data", O_RDONLY);
    REQUIRE(fd >= 0 && reading >= 0 && ftruncate(fd, PAGES * 4096) == 0);
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t *words = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, round % 2 ? fd : reading, 0);
        REQUIRE(words != MAP_FAILED);
        for (int page = 0; page < PAGES; page += 2)
            words[page * 512] += 1; // a copy of its own from now on
        for (int turn = 0; turn < 8; turn++) {
            uint64_t fresh = mix(sum, turn);
            REQUIRE(pwrite(fd, &fresh, 8, (round + turn) % PAGES * 4096) == 8);
            // How much is computed depends on what the mapping shows.
            for (int page = 0; page < PAGES; page++)
                for (uint64_t i = words[page * 512] % 1000; i > 0; i--)
                    sum = mix(sum, i);
        }
        REQUIRE(madvise(words, PAGES * 4096, MADV_DONTNEED) == 0); // now all of them show the file
        for (int page = 0; page < PAGES; page++)
            sum = mix(sum, words[page * 512]);
        REQUIRE(munmap(words, PAGES * 4096) == 0);
    }
    return report("written", sum);
}
