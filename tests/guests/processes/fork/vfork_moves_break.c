// A child of vfork moves the break of the memory that it shares with its parent, which goes on from there.
// rounds: 1 20
#define _DEFAULT_SOURCE
#include "guest.h"
#include <sys/syscall.h>
#include <sys/wait.h>

static char *move(char *to)
{
    return (char *)syscall(SYS_brk, to);
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    char *base = move(0);
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        pid_t child = vfork();
        if (child == 0) {
            move(base + 30000);
            _exit(0);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        REQUIRE(move(0) == base + 30000);
        for (int i = 0; i < 30000; i += 1000)
            sum = mix(sum, base[i] += i);
        // A part of what the child has taken, and something more.
        REQUIRE(move(base + 10000) == base + 10000 && move(base + 50000) == base + 50000);
        for (int i = 0; i < 50000; i += 1000)
            sum = mix(sum, base[i] += i);
        REQUIRE(move(base) == base);
    }
    return report("break", sum);
}
