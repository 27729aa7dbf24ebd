// Children in a process namespace of their own: a slice must not become the first process there.
// rounds: 0 1
// refused sliced: process namespace
// children: vary
#define _GNU_SOURCE
#include "guest.h"
#include <sched.h>
#include <sys/wait.h>

int main(void)
{
    int is_own = unshare(CLONE_NEWPID) == 0; // only root may
    for (int n = 0; n < 2; n++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(is_own && getpid() != n + 1);
        if (child < 0) // the first one has ended, and the namespace with it
            break;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
    return report("namespace", 1);
}
