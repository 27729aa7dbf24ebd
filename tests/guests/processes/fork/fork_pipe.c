// A child writes to a pipe that its parent reads to the end: no copy of the pipe may stay open elsewhere.
// rounds: 0 4
// totals: vary
#include "guest.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            for (int i = 0; i < 2000; i++) {
                uint64_t value = mix(i, round);
                REQUIRE(write(ends[1], &value, sizeof value) == sizeof value);
            }
            _exit(0);
        }
        close(ends[1]);
        char buffer[4096];
        ssize_t n;
        while ((n = read(ends[0], buffer, sizeof buffer)) > 0)
            for (ssize_t i = 0; i < n; i++)
                sum = mix(sum, buffer[i]);
        close(ends[0]);
        REQUIRE(waitpid(child, 0, 0) == child);
    }
    return report("pipe", sum);
}
