// Processes that compute at the same time: children, a grandchild, and a program that a child executes.
// rounds: 0 200
#include "guest.h"
#include <sys/wait.h>

static uint64_t work(long rounds)
{
    uint64_t sum = rounds;
    for (long i = 0; i < rounds * 1000; i++)
        sum = mix(sum, i);
    return sum;
}

static void child(int n, char **argv, long rounds)
{
    if (n == 1) {
        pid_t grandchild = fork();
        REQUIRE(grandchild >= 0);
        if (grandchild == 0)
            _exit(work(rounds) % 100);
    }
    if (n == 2) {
        execl("/proc/self/exe", argv[0], argv[1], "alone", (char *)0);
        _exit(98);
    }
    _exit(work(rounds) % 100);
}

int main(int argc, char **argv)
{
    long n = rounds(argc, argv);
    if (argc > 2)
        return work(n) % 100;
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        REQUIRE((children[i] = fork()) >= 0);
        if (children[i] == 0)
            child(i, argv, n);
    }
    uint64_t sum = work(n);
    for (int i = 0; i < 3; i++) {
        int status;
        REQUIRE(waitpid(children[i], &status, 0) == children[i]);
        sum = mix(sum, status);
    }
    return report("tree", sum);
}
