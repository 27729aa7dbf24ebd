// Locks all that it has, and what it will have, while it makes many small calls: only its own memory is filled. What comes later is there at once.
// rounds: 2 6
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 64, MOST_KIB = 256 << 10 };

static long field(const char *name)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    REQUIRE(file);
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = atol(line + strlen(name));
    fclose(file);
    return value;
}

static void small_calls(void)
{
    for (int i = 0; i < 400; i++)
        getppid();
}

// How many pages are there that were mapped just now.
static int there(void)
{
    unsigned char present[PAGES];
    char *pages = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED && mincore(pages, PAGES * PAGE, present) == 0);
    int count = 0;
    for (int i = 0; i < PAGES; i++)
        count += present[i] & 1;
    REQUIRE(munmap(pages, PAGES * PAGE) == 0);
    return count;
}

int main(int argc, char **argv)
{
    const int flags[] = {MCL_CURRENT, MCL_CURRENT | MCL_FUTURE, MCL_FUTURE, MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT};
    uint64_t sum = 1;
    for (long i = 0; i < rounds(argc, argv); i++)
        for (int j = 0; j < 4; j++) {
            small_calls();
            // Without the right to it nothing is locked.
            int is_locked = mlockall(flags[j]) == 0;
            REQUIRE(is_locked || errno == EPERM || errno == ENOMEM);
            int wanted = is_locked && (flags[j] & MCL_FUTURE) && !(flags[j] & MCL_ONFAULT) ? PAGES : 0;
            REQUIRE(there() == wanted);
            small_calls();
            REQUIRE(field("VmRSS:") < MOST_KIB && field("RssShmem:") < MOST_KIB);
            REQUIRE(munlockall() == 0 && there() == 0);
            sum = mix(sum, i);
        }
    REQUIRE(mlockall(0) == -1 && errno == EINVAL);
    REQUIRE(mlockall(MCL_ONFAULT) == -1 && (errno == EINVAL || errno == EPERM));
    return report("locked", sum);
}
