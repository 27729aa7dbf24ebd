// Asks for what superpin's kernel doesn't have (io_uring, userfaultfd, seccomp, …) and goes on without, as programs do that run on old kernels.
// Natively some of it is there, so it isn't single-stepped.
// rounds: 0 200
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    char space[256] = {0};
    for (long round = 0; round < rounds(argc, argv); round++) {
        const long numbers[] = {SYS_io_uring_setup, SYS_userfaultfd, 447 /* memfd_secret */, SYS_rseq};
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            long fd = syscall(numbers[i], i == 0 ? 8 : 0, i == 0 ? space : 0, 0, 0);
            if (fd > 2 && i < 3)
                close(fd);
        }
        // What there is, there is in every kernel: no filter was installed, so nothing is forbidden.
        REQUIRE(prctl(PR_GET_SECCOMP) == 0);
        sum = mix(sum, getppid() > 0);
    }
    return report("without", sum);
}
