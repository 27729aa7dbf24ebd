// A program that can't be counted executes others: they go on natively as well.
// rounds: 0 1
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
    // The programs that are executed have one more argument.
    int left = argc > 2 ? argv[2][0] - '0' : 2;
    printf("%d\n", left);
    fflush(stdout);
    if (argc > 2 && left == 0)
        return 11;
    if (argc <= 2) {
        int status;
        pid_t child = clone(child_body, stack + sizeof stack, CLONE_VM | SIGCHLD, (void *)7);
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child && done == 7);
    }
    execl("/proc/self/exe", argv[0], argv[1], left == 2 ? "1" : "0", (char *)0);
    return 1;
}
