// Memory mapped shared, anonymous and of a file: what is written through one mapping is read through another.
// rounds: 2 30
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    int fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, 16384) == 0);
    uint64_t *a = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t *b = mmap(0, 16384, PROT_READ, MAP_SHARED, fd, 0);
    uint64_t *c = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(a != MAP_FAILED && b != MAP_FAILED && c != MAP_FAILED);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 2048; i += 3) {
            a[i] += mix(sum, i);
            c[i] += b[i] + 1; // sees the write at once
            sum = mix(sum, c[(i * 7) % 2048]);
        }
        if (round % 5 == 0)
            REQUIRE(msync(a, 16384, MS_SYNC) == 0 && getppid() > 0);
    }
    uint64_t from_file[8];
    REQUIRE(pread(fd, from_file, sizeof from_file, 3 * 8) == sizeof from_file);
    sum = mix(sum, from_file[0]);
    return report("shared", sum);
}
