// Limits its own resources, in the end for good: the limits are those that were set, and what they allow is the program's.
// rounds: 0 20
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static const size_t limit = 1 << 30;

static void *map(size_t size)
{
    return mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    struct rlimit before, now;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    // Nothing to be tried under a limit that can't be raised.
    if (before.rlim_max != RLIM_INFINITY)
        return report("limited", 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct rlimit own = {limit + round, RLIM_INFINITY};
        REQUIRE(setrlimit(RLIMIT_AS, &own) == 0);
        REQUIRE(getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur == limit + round && now.rlim_max == RLIM_INFINITY);
        REQUIRE(map(limit) == MAP_FAILED && errno == ENOMEM);
        uint64_t *half = map(limit / 2);
        REQUIRE(half != MAP_FAILED);
        for (int i = 0; i < 500; i++)
            half[i * 512] = sum = mix(sum, i);
        REQUIRE(map(limit / 2) == MAP_FAILED);
        for (int i = 0; i < 500; i++)
            sum = mix(sum, half[i * 512]);
        REQUIRE(munmap(half, limit / 2) == 0);
        struct rlimit wrong = {2, 1};
        REQUIRE(setrlimit(RLIMIT_AS, &wrong) == -1 && errno == EINVAL);
        REQUIRE(syscall(SYS_prlimit64, getpid(), RLIMIT_AS, &before, &now) == 0 && now.rlim_cur == limit + round);
        REQUIRE(syscall(SYS_getrlimit, RLIMIT_AS, &now) == 0 && now.rlim_cur == before.rlim_cur);
    }
    static const int resources[] = {RLIMIT_NOFILE, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_MEMLOCK};
    for (int i = 0; i < 5; i++) {
        // Standard output may be a file, and there is memory.
        int must_be_some = resources[i] == RLIMIT_DATA || resources[i] == RLIMIT_FSIZE;
        struct rlimit own = {must_be_some << 28, must_be_some << 28}, more = {1, (1 << 28) + 1};
        REQUIRE(getrlimit(resources[i], &before) == 0);
        REQUIRE(setrlimit(resources[i], &own) == 0 && getrlimit(resources[i], &now) == 0);
        REQUIRE(now.rlim_cur == own.rlim_cur && now.rlim_max == own.rlim_max);
        // Nobody but the privileged can take that back.
        if (setrlimit(resources[i], &more) == 0)
            REQUIRE(setrlimit(resources[i], &own) == 0);
        else
            REQUIRE(errno == EPERM);
        for (int j = 0; j < 20000; j++)
            sum = mix(sum, j);
        if (resources[i] == RLIMIT_DATA)
            REQUIRE(sbrk(1 << 29) == (void *)-1 && map(1 << 29) == MAP_FAILED && sbrk(4096) != (void *)-1);
        REQUIRE(getppid() > 0);
    }
    REQUIRE(dup(0) == -1 && errno == EMFILE);
    return report("limited", sum);
}
