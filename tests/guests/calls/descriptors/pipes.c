// A pipe within one process, non-blocking reads, select, poll and epoll on it.
// rounds: 2 20
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    int ends[2], event = eventfd(0, EFD_NONBLOCK), epoll = epoll_create1(0);
    REQUIRE(pipe2(ends, O_NONBLOCK) == 0 && event >= 0 && epoll >= 0);
    struct epoll_event want = {.events = EPOLLIN, .data.u64 = 77}, got[4];
    REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &want) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        char buffer[64];
        REQUIRE(read(ends[0], buffer, sizeof buffer) == -1 && errno == EAGAIN);
        struct pollfd fds[] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}};
        REQUIRE(poll(fds, 2, 0) == 1);
        sum = mix(sum, fds[0].revents * 16 + fds[1].revents);
        REQUIRE(write(ends[1], "some bytes", 10) == 10);
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(ends[0], &readable);
        struct timeval second = {1, 0};
        REQUIRE(select(ends[0] + 1, &readable, 0, 0, &second) == 1 && FD_ISSET(ends[0], &readable));
        REQUIRE(epoll_wait(epoll, got, 4, 1000) == 1);
        sum = mix(sum, got[0].events + got[0].data.u64);
        REQUIRE(read(ends[0], buffer, sizeof buffer) == 10);
        sum = mix(sum, buffer[6]);
        uint64_t value = round + 1;
        REQUIRE(write(event, &value, 8) == 8 && read(event, &value, 8) == 8);
        sum = mix(sum, value);
    }
    return report("pipes", sum);
}
