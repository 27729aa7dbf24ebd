// Reads memory while a child process writes to it: how much is computed depends on what is seen, but nothing that stays does.
// rounds: 0 1
// totals: vary
// warned: uncertain
// options: -spmsec 1000
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    int started[2];
    char byte = 0;
    volatile uint64_t *counter = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(counter != MAP_FAILED && pipe(started) == 0);
    pid_t child = fork();
    if (child == 0) {
        ++*counter;
        REQUIRE(write(started[1], &byte, 1) == 1);
        for (;;)
            ++*counter;
    }
    REQUIRE(read(started[0], &byte, 1) == 1);
    // No slice may end in the middle of it: what it has seen there is in its registers, and no slice sees that. So it is given more time than the looks can take.
    // So many looks that the child runs during one of them, however busy the machine is: it has a part of a processor.
    for (long round = 0; round < 300 * rounds(argc, argv); round++) {
        for (int look = 0; look < 40000; look++)
            if (*counter % 1000 == 0)
                __asm__ volatile("nop");
        usleep(1000);
    }
    REQUIRE(kill(child, SIGTERM) == 0 && waitpid(child, 0, 0) == child);
    return report("done", 0);
}
