// Parent and child store to memory that they share, and the child changes what its mapping consists of between that and the next call: it has a page left out of dumps, protects or unmaps one, maps
// something elsewhere or in the memory's midst.
// rounds: 2 30
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 64 };

static char *memory;

static volatile uint64_t *word(int page)
{
    return (volatile uint64_t *)(memory + page % PAGES * PAGE);
}

static void store(int round, uint64_t what)
{
    for (int page = round % 3; page < PAGES / 2; page += 3)
        *word(page) = mix(*word(page), what + page);
}

static void map_elsewhere(int kind, size_t pages)
{
    char *other = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    REQUIRE(other != MAP_FAILED);
    other[0] = 1;
    REQUIRE(munmap(other, pages * PAGE) == 0);
}

// Pages from half of the memory on lose their mapping, one each round, or get another.
static void change(int round)
{
    char *page = memory + (PAGES / 2 + round % (PAGES / 2)) * PAGE;
    char *low = memory + round % (PAGES / 2) * PAGE;
    switch (round % 6) {
    case 0:
        REQUIRE(madvise(low, PAGE, MADV_DONTDUMP) == 0);
        store(round, round);
        map_elsewhere(MAP_PRIVATE, 3);
        break;
    case 1:
        REQUIRE(mprotect(low, PAGE, PROT_READ) == 0);
        REQUIRE(mprotect(low, PAGE, PROT_READ | PROT_WRITE) == 0);
        break;
    case 2:
        REQUIRE(munmap(page, PAGE) == 0);
        break;
    case 3:
        REQUIRE(mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
        break;
    case 4:
        REQUIRE(madvise(memory, PAGES / 2 * PAGE, MADV_DODUMP) == 0);
        store(round, round);
        map_elsewhere(MAP_SHARED, 3);
        break;
    case 5:
        REQUIRE(mremap(page, PAGE, PAGE, MREMAP_MAYMOVE) == page);
        break;
    }
}

static void child(long amount, int from, int to)
{
    for (long i = 0; i < amount; i++) {
        uint64_t told;
        REQUIRE(read(from, &told, 8) == 8);
        store(i, told);
        change(i);
        store(i + 1, 2 * i);
        told = *word(i % 8);
        REQUIRE(write(to, &told, 8) == 8);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    long amount = 4 * rounds(argc, argv);
    int down[2], up[2];
    REQUIRE(pipe(down) == 0 && pipe(up) == 0);
    memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        child(amount, down[0], up[1]);
    uint64_t sum = 1, told;
    for (long i = 0; i < amount; i++) {
        store(i + 2, sum);
        sum = mix(sum, i);
        REQUIRE(write(down[1], &sum, 8) == 8 && read(up[0], &told, 8) == 8);
        sum = mix(sum, told);
        for (int page = 0; page < PAGES / 2; page++)
            for (int n = *word(page) % 3; n >= 0; n--)
                sum = mix(sum, *word(page));
    }
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    return report("shared", sum);
}
