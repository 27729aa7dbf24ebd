// Anonymous and file mappings made, moved, split, protected, discarded, and their contents checked.
// rounds: 2 25
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    for (int i = 0; i < 20000; i++)
        if (i % 1000 == 0) {
            char block[1000];
            memset(block, i / 1000 + 'a', sizeof block);
            REQUIRE(write(fd, block, sizeof block) == sizeof block);
        }
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        char *p = mmap(0, 40960, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(p != MAP_FAILED);
        for (int i = 0; i < 40960; i += 1000)
            p[i] = i / 1000 + round;
        REQUIRE(munmap(p + 16384, 4096) == 0); // a hole
        p = mremap(p, 16384, 65536, MREMAP_MAYMOVE);
        REQUIRE(p != MAP_FAILED);
        for (int i = 0; i < 65536; i += 1000)
            sum = mix(sum, p[i]);
        REQUIRE(madvise(p, 8192, MADV_DONTNEED) == 0);
        for (int i = 0; i < 16384; i += 1000)
            sum = mix(sum, p[i]);
        REQUIRE(mprotect(p, 4096, PROT_READ) == 0);
        REQUIRE(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
        char *file = mmap(0, 20000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        char *second = mmap(0, 8192, PROT_READ, MAP_PRIVATE, fd, 4096);
        REQUIRE(file != MAP_FAILED && second != MAP_FAILED);
        file[5000] = 'Z'; // private: not seen through the other
        for (int i = 0; i < 8192; i += 100)
            sum = mix(sum, file[i] + second[i]);
        munmap(file, 20000);
        munmap(second, 8192);
        munmap(p, 65536);
        munmap(p + 20480, 20480);
    }
    return report("mappings", sum);
}
