// posix_spawn, system and popen.
// rounds: 1 2
// children: vary
// (the shell formats its parent's process id, whose number of digits varies)
#include "guest.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        fflush(stdout);
        pid_t child;
        int status;
        char *arguments[] = {"sh", "-c", "echo spawned; exit 4", 0};
        REQUIRE(posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ) == 0);
        REQUIRE(waitpid(child, &status, 0) == child);
        sum = mix(sum, status);
        sum = mix(sum, system("echo by system; exit 5"));
        FILE *p = popen("echo by popen", "r");
        char line[64];
        REQUIRE(p && fgets(line, sizeof line, p));
        sum = mix(sum, line[3] + pclose(p));
    }
    return report("spawn", sum);
}
