// Children made by fork that compute, exit with a status or are killed; their output comes in order.
// rounds: 1 8
#include "guest.h"
#include <signal.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        fflush(stdout);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            printf("child %ld\n", round);
            fflush(stdout);
            if (round % 3 == 2)
                kill(getpid(), SIGKILL);
            _exit(round + 10);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child);
        sum = mix(sum, status);
    }
    return report("children", sum);
}
