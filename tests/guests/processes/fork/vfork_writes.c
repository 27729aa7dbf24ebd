// A child of vfork writes to its parent's memory before it ends.
// rounds: 1 40
#include "guest.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
    static volatile uint64_t words[1000];
    uint64_t sum = 1;
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        pid_t child = vfork();
        if (child == 0) {
            for (int i = 0; i < 1000; i++)
                words[i] = mix(round, i);
            _exit(round % 7);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == round % 7);
        for (int i = 0; i < 1000; i++)
            for (int n = words[i] % 8; n > 0; n--)
                sum = mix(sum, words[i]);
    }
    return report("written", sum);
}
