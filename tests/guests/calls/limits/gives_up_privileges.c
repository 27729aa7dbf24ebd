// A daemon's start: another user and group, or another root directory where there is no /proc; then work as before, files mapped, children.
// build user: -O1
// build root: -O1 -DROOT
// rounds: 3 400
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

static uint64_t contents(const char *name)
{
    int fd = open(name, O_RDONLY);
    REQUIRE(fd >= 0);
    unsigned char *bytes = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(bytes != MAP_FAILED && close(fd) == 0);
    uint64_t sum = 0;
    for (int i = 0; bytes[i] != 0; i++)
        sum = mix(sum, bytes[i]);
    munmap(bytes, 4096);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = contents("/etc/passwd");
    const char *file = "/etc/passwd";
    if (getuid() == 0) {
#ifdef ROOT
        REQUIRE(chroot("/etc") == 0 && chdir("/") == 0);
        file = "/passwd";
#else
        REQUIRE(setgid(12345) == 0 && setuid(12345) == 0 && getuid() == 12345);
#endif
    }
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 20000; i++)
            sum = mix(sum, i);
        if (round % 50 == 1)
            sum = mix(sum, contents(file));
        if (round % 200 == 2) {
            int status;
            pid_t child = fork();
            if (child == 0)
                _exit(sum & 63);
            REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == (sum & 63));
        }
    }
    return report("work", sum);
}
