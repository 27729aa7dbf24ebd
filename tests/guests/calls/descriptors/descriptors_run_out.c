// A limit of open files that leaves none: a child is started, and another program executed, all the same.
// build static: -O1 -static
// rounds: 0 5
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t work(uint64_t sum)
{
    for (int i = 0; i < 1000000; i++)
        sum = mix(sum, i);
    return sum;
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (argc < 3) {
        limit.rlim_cur = 3;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    REQUIRE(limit.rlim_cur == 3);
    REQUIRE(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = work(sum);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            _exit(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE ? work(sum) & 63 : 99);
        int status;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == (work(sum) & 63));
    }
    if (argc < 3) {
        execl(argv[0], argv[0], argc > 1 ? argv[1] : "1", "again", NULL);
        REQUIRE(!"executed");
    }
    return report("run out", sum);
}
