// A signal ends a system call that waits: EINTR without SA_RESTART, a restarted call with it.
// rounds: 0 5
// totals: vary
#include "guest.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;
static void tick(int signal) { ticks += signal == SIGALRM; }

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tick};
    struct itimerval every = {{0, 10000}, {0, 10000}}; // again and again: one could come before the call
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        action.sa_flags = 0;
        sigaction(SIGALRM, &action, 0);
        REQUIRE(poll(0, 0, 60000) == -1 && errno == EINTR);
        struct timespec minute = {60, 0}, left = {0, 0};
        REQUIRE(nanosleep(&minute, &left) == -1 && errno == EINTR && left.tv_sec >= 58);
        action.sa_flags = SA_RESTART;
        sigaction(SIGALRM, &action, 0);
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            usleep(30000);
            _exit(write(ends[1], "x", 1) != 1);
        }
        char byte = 0;
        REQUIRE(read(ends[0], &byte, 1) == 1 && byte == 'x');
        close(ends[0]);
        close(ends[1]);
    }
    REQUIRE(ticks >= 2 * rounds(argc, argv));
    puts("woken");
    return 0;
}
