// Rewrites files that it had mapped before, or still has, as ranlib and strip do, while much of the slices' work on them is still to be done.
// rounds: 1 12
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORDS = 8 * 512 };
static const char name[] = "data", link_name[] = "link";
static uint64_t block[WORDS];

static void fill(uint64_t sum)
{
    for (int i = 0; i < WORDS; i++)
        block[i] = mix(sum, i);
}

// How much is computed depends on what the file holds.
static uint64_t look(const uint64_t *words, uint64_t sum)
{
    for (int i = 0; i < WORDS; i += 64)
        for (uint64_t n = words[i] % 500; n > 0; n--)
            sum = mix(sum, n + words[i]);
    return sum;
}

static uint64_t *map(void)
{
    int fd = open(name, O_RDONLY);
    uint64_t *words = mmap(0, sizeof block, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(fd >= 0 && words != MAP_FAILED && close(fd) == 0);
    return words;
}

// Opens it for writing in one of several ways.
static int reopen(long way)
{
    struct { uint64_t flags, mode, resolve; } how = {.flags = O_WRONLY};
    switch (way) {
    case 0: return open(name, O_WRONLY | O_TRUNC);
    case 1: return open(name, O_RDWR);
    case 2: return creat(name, 0600);
    case 3: return truncate(name, 0) == 0 ? open(name, O_WRONLY) : -1;
    case 4: return syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how);
    default: return open(link_name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
}

static uint64_t round_of(long round, uint64_t sum)
{
    uint64_t *words = map();
    // Once something stays mapped that is written, calls aren't recorded in this process any more.
    int stays = round > 6 && round % 2, fd;
    sum = look(words, sum);
    if (!stays)
        REQUIRE(munmap(words, sizeof block) == 0);
    // Enough small calls that the next ones may be recorded in this process.
    for (int i = 0; i < (round % 2 ? 300 : 0); i++)
        sum = mix(sum, lseek(99, i, SEEK_SET));
    REQUIRE((fd = reopen(round % 6)) >= 0);
    fill(sum);
    REQUIRE(write(fd, block, sizeof block) == sizeof block && close(fd) == 0);
    if (stays) {
        sum = look(words, sum);
        REQUIRE(munmap(words, sizeof block) == 0);
    }
    words = map();
    sum = look(words, sum);
    REQUIRE(munmap(words, sizeof block) == 0);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && symlink(name, link_name) == 0);
    fill(sum);
    REQUIRE(write(fd, block, sizeof block) == sizeof block && close(fd) == 0);
    for (long round = 0; round < rounds(argc, argv); round++)
        sum = round_of(round, sum);
    return report("rewritten", sum);
}
