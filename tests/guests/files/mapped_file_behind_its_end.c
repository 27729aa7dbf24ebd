// Mappings of all kinds go on behind the end of their file, which comes and goes: it grows by calls, page by page and in leaps, and is cut off. Behind it there are signals.
// rounds: 1 8
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGES = 12, PAGE = 4096, VIEWS = 4 };

static sigjmp_buf out;
static volatile uint64_t *views[VIEWS];
static volatile uint64_t sum = 1;
static volatile long pages;

static void handler(int signal, siginfo_t *info, void *context)
{
    sum = mix(sum, signal * 100 + info->si_code);
    siglongjmp(out, 1);
}

// How much is computed depends on what each view shows, and whether there is something behind it.
static void look(int behind)
{
    for (volatile int view = 0; view < VIEWS; view++) {
        for (long page = 0; page < pages; page++)
            for (uint64_t n = views[view][page * 512 + 8] % 50; n > 0; n--)
                sum = mix(sum, n);
        if (behind && pages < PAGES && sigsetjmp(out, 1) == 0)
            sum = mix(sum, views[view][pages * 512 + 8]);
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, 0);
    int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    int protections[VIEWS] = {PROT_READ, PROT_READ | PROT_WRITE, PROT_READ, PROT_READ | PROT_WRITE};
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        for (int view = 0; view < VIEWS; view++) {
            // In every other round none that is stored to and shared, as what is written then isn't seen by calls.
            int flags = view < (round % 2 ? 3 : 4) - 1 ? MAP_PRIVATE : MAP_SHARED;
            int protection = flags == MAP_SHARED && round % 2 ? PROT_READ : protections[view];
            views[view] = mmap(0, PAGES * PAGE, protection, flags, fd, 0);
            REQUIRE(views[view] != MAP_FAILED);
        }
        for (volatile int turn = 0; turn < 24; turn++) {
            uint64_t words[2] = {mix(sum, turn), mix(sum, turn + 100)};
            long page = pages + (turn % 5 == 4 ? 2 : 0);
            if (page >= PAGES) {
                pages = turn % 3;
                REQUIRE(ftruncate(fd, pages * PAGE) == 0);
            } else {
                // Over a page's end, or a few bytes of a new page.
                long at = page * PAGE + 64 - (page > 0 && turn % 2 ? 68 : 0);
                REQUIRE(pwrite(fd, words, 16, at) == 16);
                pages = (at + 16 + PAGE - 1) / PAGE;
            }
            look(turn % 4 == 3);
        }
        // A page of the app's own ends with the file, too.
        if (pages > 1) {
            views[1][8] = sum;
            REQUIRE(ftruncate(fd, 0) == 0);
            pages = 0;
            look(1);
        }
        for (int view = 0; view < VIEWS; view++)
            REQUIRE(munmap((void *)views[view], PAGES * PAGE) == 0);
        pages = 0;
        REQUIRE(ftruncate(fd, 0) == 0);
    }
    return report("looked", sum);
}
