// vfork: the child writes the parent's memory, then execs or exits.
// rounds: 1 6
#include "guest.h"
#include <sys/wait.h>

static volatile int written;

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        fflush(stdout);
        pid_t child = vfork();
        if (child == 0) {
            written = round + 5;
            if (round % 2)
                _exit(3);
            execl("/bin/echo", "echo", "from the child", (char *)0);
            _exit(127);
        }
        int status;
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
        sum = mix(sum, status + written);
    }
    return report("vfork", sum);
}
