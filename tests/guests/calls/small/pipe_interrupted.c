// Reads from a pipe or a socket, among thousands of small calls, what another process writes late, while signals arrive: with SA_RESTART and without.
// build pipe: -O1
// build socket: -O1 -DSOCKETS
// rounds: 0 6
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    ticks += signal == SIGALRM;
}

// Answers each byte, late.
static void answer(int from, int to)
{
    char byte;
    while (read(from, &byte, 1) == 1) {
        usleep(8000);
        if (write(to, &byte, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

#ifdef SOCKETS
#define pipe(ends) socketpair(AF_UNIX, SOCK_STREAM, 0, ends)
#endif

int main(int argc, char **argv)
{
    int there[2], back[2], near[2], status;
    uint64_t sum = 0;
    REQUIRE(pipe(there) == 0 && pipe(back) == 0 && pipe(near) == 0);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(close(there[1]) == 0 && close(back[0]) == 0);
        answer(there[0], back[1]);
    }
    REQUIRE(close(there[0]) == 0 && close(back[1]) == 0);
    struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct sigaction action = {.sa_handler = tick, .sa_flags = round % 2 ? SA_RESTART : 0};
        REQUIRE(sigaction(SIGALRM, &action, 0) == 0);
        char byte = round, got = -1;
        // One process alone: nothing waits.
        for (int i = 0; i < 300; i++) {
            char here = i;
            REQUIRE(write(near[1], &here, 1) == 1 && read(near[0], &here, 1) == 1);
            sum = mix(sum, here);
        }
        setitimer(ITIMER_REAL, &often, 0);
        REQUIRE(write(there[1], &byte, 1) == 1);
        long result, broken = 0;
        while ((result = read(back[0], &got, 1)) == -1 && errno == EINTR)
            broken++;
        setitimer(ITIMER_REAL, &never, 0);
        REQUIRE(result == 1 && got == byte && (broken == 0 || round % 2 == 0));
        sum = mix(sum, got);
    }
    REQUIRE(close(there[1]) == 0);
    while (waitpid(child, &status, 0) != child)
        ;
    REQUIRE(status == 0);
    // Nobody reads any more.
    signal(SIGPIPE, SIG_IGN);
    REQUIRE(close(near[0]) == 0 && write(near[1], "x", 1) == -1 && errno == EPIPE);
    return report("pipe", sum);
}
