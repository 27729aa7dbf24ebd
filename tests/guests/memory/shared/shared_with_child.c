// A child process writes to memory that it shares with its parent, which reads it after it was told through a pipe.
// rounds: 1 30
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    uint64_t *words = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int to[2], from[2];
    REQUIRE(words != MAP_FAILED && pipe(to) == 0 && pipe(from) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        long round;
        close(to[1]);
        while (read(to[0], &round, sizeof round) == sizeof round) {
            for (int i = 0; i < 2048; i++)
                words[i] = mix(words[i], round + i);
            if (write(from[1], "x", 1) != 1)
                _exit(9);
        }
        _exit(0);
    }
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        char byte;
        REQUIRE(write(to[1], &round, sizeof round) == sizeof round);
        REQUIRE(read(from[0], &byte, 1) == 1);
        for (int i = 0; i < 2048; i++)
            for (int n = words[i] % 8; n > 0; n--)
                sum = mix(sum, words[i]);
        words[round] = sum;
    }
    close(to[1]);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return report("together", sum);
}
