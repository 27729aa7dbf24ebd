// Asks for events, among thousands of small calls, while signals arrive, and waits for what another process writes late.
// rounds: 0 2
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
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

// Waits for the descriptor in one way or the other; a signal breaks that off.
static long wait_for(int epoll, int fd, int by_epoll)
{
    struct epoll_event event = {.events = 0};
    struct pollfd polled = {fd, POLLIN, 7};
    long result, broken = 0;
    while ((result = by_epoll ? epoll_wait(epoll, &event, 1, -1) : poll(&polled, 1, -1)) == -1 && errno == EINTR)
        broken++;
    REQUIRE(result == 1 && (by_epoll ? event.data.fd == fd : polled.revents == POLLIN));
    return broken;
}

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
    int epoll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN};
    for (int i = 0; i < 2; i++) {
        wanted.data.fd = i ? back[0] : near[0];
        REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, wanted.data.fd, &wanted) == 0);
    }
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    REQUIRE(sigaction(SIGALRM, &action, 0) == 0);
    // Each is set anew by a loop, so that a slow run isn't interrupted for ever.
    struct itimerval soon = {{0, 0}, {0, 300}}, later = {{0, 0}, {0, 3000}};
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 120; i++) {
            char here = i;
            if (i % 8 == 0)
                setitimer(ITIMER_REAL, &soon, 0);
            REQUIRE(write(near[1], &here, 1) == 1);
            wait_for(epoll, near[0], i % 2);
            REQUIRE(read(near[0], &here, 1) == 1 && here == (char)i);
            // Nothing is there: a signal that comes just then breaks this off, too.
            struct pollfd polled = {near[0], POLLIN, 7};
            long result = poll(&polled, 1, 0);
            REQUIRE((result == 0 && polled.revents == 0) || (result == -1 && errno == EINTR));
            sum = mix(sum, here);
        }
        char byte = round, got = -1;
        REQUIRE(write(there[1], &byte, 1) == 1);
        setitimer(ITIMER_REAL, &later, 0);
        wait_for(epoll, back[0], round % 2);
        REQUIRE(read(back[0], &got, 1) == 1 && got == byte);
        sum = mix(sum, got);
    }
    REQUIRE(close(there[1]) == 0);
    while (waitpid(child, &status, 0) != child)
        ;
    REQUIRE(status == 0);
    return report("events", sum);
}
