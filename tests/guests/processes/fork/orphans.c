// A process whose parent has ended goes on and is heard of through a pipe.
// rounds: 0 3
#include "guest.h"
#include <sys/wait.h>

static void orphan(int to, int parent, long round)
{
    char byte;
    uint64_t sum = read(parent, &byte, 1); // until the parent has ended
    for (int i = 0; i < 1000; i++)
        sum = mix(sum, round + i);
    REQUIRE(write(to, &sum, sizeof sum) == sizeof sum);
    _exit(0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0, part;
    for (long round = 0; round < rounds(argc, argv); round++) {
        int ends[2], status;
        REQUIRE(pipe(ends) == 0);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            int life[2];
            REQUIRE(pipe(life) == 0);
            pid_t grandchild = fork();
            REQUIRE(grandchild >= 0);
            close(life[grandchild == 0 ? 1 : 0]);
            if (grandchild == 0)
                orphan(ends[1], life[0], round);
            _exit(7);
        }
        close(ends[1]);
        REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
        REQUIRE(read(ends[0], &part, sizeof part) == sizeof part);
        REQUIRE(read(ends[0], &part, sizeof part) == 0);
        close(ends[0]);
        sum = mix(sum, part);
    }
    return report("orphans", sum);
}
