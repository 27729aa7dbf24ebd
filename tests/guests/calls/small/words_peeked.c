// A debugger asks for thousands of words of what it debugs, one call each, and for some that aren't there. A process that is followed can't be debugged.
// options: -follow 0
// rounds: 2 10
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { WORDS = 1000 };

static uint64_t words[WORDS];

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (int i = 0; i < WORDS; i++)
            words[i] = mix(i, 7);
        REQUIRE(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    uint64_t sum = 1;
    for (long round = 0; round < amount; round++) {
        for (int i = 0; i < WORDS; i++) {
            errno = 0;
            uint64_t word = ptrace(PTRACE_PEEKDATA, child, &words[i], 0);
            REQUIRE(errno == 0 && word == mix(i, 7));
            // What was read decides how often this runs.
            for (unsigned n = word % 4; n > 0; n--)
                sum = mix(sum, word);
        }
        errno = 0;
        REQUIRE(ptrace(PTRACE_PEEKDATA, child, (void *)8, 0) == -1 && errno == EIO);
        sum = mix(sum, errno);
    }
    REQUIRE(ptrace(PTRACE_CONT, child, 0, 0) == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return report("peeked", sum);
}
