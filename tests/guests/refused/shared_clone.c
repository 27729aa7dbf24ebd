// A process that runs at the same time in the same memory: counting is refused, the program itself comes to its right end.
// rounds: 0 20000
// refused: memory
#define _GNU_SOURCE
#include "guest.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static volatile int done;
static int child_body(void *argument)
{
    done = (int)(intptr_t)argument;
    return 0;
}

int main(int argc, char **argv)
{
    static _Alignas(16) char stack[65536];
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        sum = mix(sum, round);
    int status;
    pid_t child = clone(child_body, stack + sizeof stack, CLONE_VM | SIGCHLD, (void *)7);
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && done == 7);
    return report("together", sum);
}
