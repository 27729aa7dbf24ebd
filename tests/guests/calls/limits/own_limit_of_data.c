// Limits its data below what it has: what needs more fails in its own run, and doesn't in a slice, which has no such limit.
// rounds: 0 400
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

static char data[8 << 20];

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    struct rlimit before;
    REQUIRE(getrlimit(RLIMIT_DATA, &before) == 0);
    memset(data, 1, sizeof data);
    const size_t size = 16 << 12;
    char *readable = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(readable != MAP_FAILED);
    struct rlimit own = {1 << 20, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_DATA, &own) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
        // In one mapping; from its midst; with a gap behind it, up to which it is changed.
        REQUIRE(mprotect(readable, size, PROT_READ | PROT_WRITE) == -1 && errno == ENOMEM);
        REQUIRE(mprotect(readable + 4096, 4096, PROT_READ | PROT_WRITE) == -1 && errno == ENOMEM);
        REQUIRE(sbrk(1 << 20) == (void *)-1 && errno == ENOMEM);
        char *gap = mmap(0, 3 << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(gap != MAP_FAILED && munmap(gap + 4096, 4096) == 0);
        REQUIRE(mprotect(gap, 3 << 12, PROT_NONE) == -1 && errno == ENOMEM);
        REQUIRE(munmap(gap, 3 << 12) == 0);
        for (int i = 0; i < 2000; i++)
            sum = mix(sum, readable[i] + i);
    }
    // Exchanged, it is what was set, whatever was allocated meanwhile.
    struct rlimit other = {2 << 20, before.rlim_max}, old;
    REQUIRE(prlimit(0, RLIMIT_DATA, &other, &old) == 0 && old.rlim_cur == own.rlim_cur && old.rlim_max == own.rlim_max);
    REQUIRE(getrlimit(RLIMIT_DATA, &old) == 0 && old.rlim_cur == other.rlim_cur);
    REQUIRE(setrlimit(RLIMIT_DATA, &before) == 0);
    REQUIRE(mprotect(readable, size, PROT_READ | PROT_WRITE) == 0);
    readable[5] = 1;
    return report("limited", mix(sum, readable[5]));
}
