// Stopped and continued: by itself, and from outside while it computes; a handler for SIGCONT.
// rounds: 0 4
// totals: vary
#include "guest.h"
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t continued;
static void on_continue(int signal) { continued += signal == SIGCONT; }

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        signal(SIGCONT, round & 1 ? on_continue : SIG_DFL);
        fflush(stdout);
        pid_t parent = getpid(), child = fork();
        if (child == 0) {
            usleep(20000);
            kill(parent, round & 2 ? SIGSTOP : SIGTSTP);
            usleep(20000);
            kill(parent, SIGCONT);
            usleep(40000);
            kill(parent, SIGCONT); // after it has stopped itself
            _exit(3);
        }
        for (int i = 0; i < 30000000; i++)
            sum = mix(sum, i);
        int status;
        pid_t found;
        while ((found = waitpid(child, &status, 0)) < 0)
            ;
        REQUIRE(found == child && WEXITSTATUS(status) == 3);
    }
    REQUIRE(rounds(argc, argv) < 2 || continued > 0);
    return report("continued", sum);
}
