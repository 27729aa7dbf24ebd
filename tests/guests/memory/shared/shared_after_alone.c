// Memory that a process has for itself while it shares other memory with a child: pieces of it are exchanged, also for what they are already. Then a second child has it as well,
// and both store to it; then it is the process's alone once more, and at last a third child's. All of them have many small pieces in common, too.
// rounds: 2 20
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 32, PIECES = 12 };

static char *pieces[PIECES];

static char *shared(size_t len)
{
    char *memory = mmap(0, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

static void tell(int end, char what)
{
    REQUIRE(write(end, &what, 1) == 1);
}

static char hear(int end)
{
    char what;
    REQUIRE(read(end, &what, 1) == 1);
    return what;
}

static uint64_t sum_of(const char *memory, uint64_t sum)
{
    for (int page = 0; page < PAGES; page++)
        sum = mix(sum, *(const uint64_t *)(memory + page * PAGE));
    for (int piece = 0; piece < PIECES; piece++)
        sum = mix(sum, *(const uint64_t *)pieces[piece]);
    return sum;
}

// A child that stores to each second page whenever it is told to.
static pid_t storing(char *memory, int from, int to, uint64_t value)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child)
        return child;
    while (hear(from) != 'e') {
        for (int page = 0; page < PAGES; page += 2)
            *(volatile uint64_t *)(memory + page * PAGE) += ++value * page;
        *(volatile uint64_t *)pieces[value % PIECES] += value;
        tell(to, 'd');
    }
    _exit(0);
}

static void await(pid_t child)
{
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    int down[2], up[2];
    REQUIRE(pipe(down) == 0 && pipe(up) == 0);
    for (int piece = 0; piece < PIECES; piece++)
        pieces[piece] = shared(PAGE);
    char *common = shared(PAGES * PAGE);
    pid_t first = storing(common, down[0], up[1], 1);
    char *alone = shared(PAGES * PAGE);
    uint64_t sum = 1;
    for (long i = 0; i < amount; i++) {
        for (int page = 0; page < PAGES; page++)
            *(volatile uint64_t *)(alone + page * PAGE) += i + page;
        // Page I shows another one, and page I + 1 what it shows.
        int at = i % (PAGES - 1);
        REQUIRE(remap_file_pages(alone + at * PAGE, PAGE, 0, (at * 7 + i) % PAGES, 0) == 0);
        REQUIRE(remap_file_pages(alone + (at + 1) * PAGE, PAGE, 0, at + 1, 0) == 0);
        getppid();
        sum = sum_of(alone, sum);
        tell(down[1], 's');
        hear(up[0]);
        sum = sum_of(common, sum);
    }
    tell(down[1], 'e');
    await(first);
    for (int which = 2; which < 4; which++) {
        pid_t child = storing(alone, down[0], up[1], which);
        for (long i = 0; i < amount; i++) {
            alone[(i % PAGES) * PAGE + 9]++;
            tell(down[1], 's');
            hear(up[0]);
            sum = sum_of(alone, sum);
            getppid();
        }
        tell(down[1], 'e');
        await(child);
        for (long i = 0; i < amount; i++) {
            alone[(i % PAGES) * PAGE + 17]++;
            getppid();
            sum = sum_of(alone, sum);
        }
    }
    return report("shared", sum);
}
