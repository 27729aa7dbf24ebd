// A descriptor that is closed is gone from an epoll set, and its pipe has no reader, at once: nothing else holds the file.
// With many descriptors a slice takes longer to give them up: the guest failed in one of some thousand slices while that could happen
// after the app had gone on.
// rounds: 0 60
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <sys/epoll.h>

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    enum { COPIES = 24 };
    int events = epoll_create1(0);
    REQUIRE(events >= 0);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]}, ready;
        REQUIRE(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &event) == 0);
        REQUIRE(write(ends[1], "x", 1) == 1);
        for (int i = 0; i < 2000; i++)
            sum = mix(sum, i);
        REQUIRE(epoll_wait(events, &ready, 1, -1) == 1 && ready.data.fd == ends[0]);
        int copies[COPIES];
        for (int i = 0; i < COPIES; i++)
            REQUIRE((copies[i] = dup(ends[0])) >= 0);
        REQUIRE(close_range(copies[0], copies[COPIES - 1], 0) == 0);
        REQUIRE(close(ends[0]) == 0);
        REQUIRE(epoll_wait(events, &ready, 1, 0) == 0);
        REQUIRE(write(ends[1], "x", 1) == -1); // no reader is left
        REQUIRE(close(ends[1]) == 0);
    }
    return report("closed", sum);
}
