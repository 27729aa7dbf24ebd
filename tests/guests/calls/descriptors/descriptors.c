// The lowest free descriptor, the set of open ones, and the signal state at start: as natively.
// rounds: 1 1
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

int main(void)
{
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            printf("open %d flags %x\n", fd, fcntl(fd, F_GETFD));
    printf("lowest %d\n", open("/dev/null", O_RDONLY));
    sigset_t set;
    sigprocmask(SIG_SETMASK, 0, &set);
    for (int s = 1; s < 65; s++) {
        struct sigaction action;
        if (sigismember(&set, s) == 1)
            printf("blocked %d\n", s);
        if (sigaction(s, 0, &action) == 0 && action.sa_handler != SIG_DFL)
            printf("not default %d\n", s);
    }
    int signal = -1;
    prctl(PR_GET_PDEATHSIG, &signal);
    printf("death signal %d dumpable %d\n", signal, prctl(PR_GET_DUMPABLE));
    return 0;
}
