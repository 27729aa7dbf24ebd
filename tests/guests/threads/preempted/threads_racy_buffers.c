// A thread waits for messages in calls, another one watches where they come to: it never sees one before the waiting thread's call is over, or it sees what a slice can't know.
// build plain: -O1 -pthread
// rounds: 0 5
// totals: vary
#define _GNU_SOURCE
#include "../threads.h"
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { WAYS = 6 };

// Where messages come to. What is watched is never 0 behind a message.
static struct {
    uint64_t words[2];
    struct epoll_event events[2];
} inbox;
static int ends[WAYS][2], are_events_there, is_taken;
static long work;

static void take_one(int way)
{
    int from = ends[way][0];
    struct iovec pieces[2] = {{&inbox.words[1], 8}, {&inbox.words[0], 8}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    switch (way) {
    case 0:
        REQUIRE(read(from, inbox.words, 16) == 16);
        break;
    case 1:
        REQUIRE(readv(from, pieces, 2) == 16);
        break;
    case 2:
        REQUIRE(read(from, inbox.words, 16) == 16);
        break;
    case 3:
        REQUIRE(recv(from, inbox.words, 16, 0) == 16);
        break;
    case 4:
        REQUIRE(recvmsg(from, &message, 0) == 16 && message.msg_flags == 0);
        break;
    default:
        REQUIRE(epoll_wait(are_events_there, inbox.events, 2, -1) == 1 && inbox.events[0].data.u64 == 77);
        REQUIRE(read(from, inbox.words, 16) == 16);
    }
}

static void *receive(void *unused)
{
    for (long i = 0; i < work * WAYS; i++) {
        take_one(i % WAYS);
        REQUIRE(inbox.words[0] == (uint64_t)i + 1 && inbox.words[1] == (uint64_t)i + 1);
        __atomic_store_n(&is_taken, 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &is_taken, FUTEX_WAKE, 1, 0, 0, 0);
        while (__atomic_load_n(&is_taken, __ATOMIC_ACQUIRE))
            syscall(SYS_futex, &is_taken, FUTEX_WAIT, 1, 0, 0, 0);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77};
    work = rounds(argc, argv);
    for (int way = 0; way < WAYS; way++) {
        int kind = way % 2 ? SOCK_STREAM : SOCK_DGRAM;
        REQUIRE(way < 2 ? pipe(ends[way]) == 0 : socketpair(AF_UNIX, kind, 0, ends[way]) == 0);
    }
    are_events_there = epoll_create1(0);
    REQUIRE(epoll_ctl(are_events_there, EPOLL_CTL_ADD, ends[WAYS - 1][0], &event) == 0);
    REQUIRE(pthread_create(&thread, 0, receive, 0) == 0);
    for (long i = 0; i < work * WAYS; i++) {
        uint64_t message[2] = {i + 1, i + 1};
        volatile uint32_t *watched = i % WAYS == WAYS - 1 ? (void *)inbox.events : (void *)inbox.words;
        *watched = 0;
        // It is likely to wait now.
        usleep(1000);
        REQUIRE(write(ends[i % WAYS][1], message, 16) == 16);
        // Each round is another state.
        for (volatile long rounds = 0; *watched == 0; rounds++) {}
        while (!__atomic_load_n(&is_taken, __ATOMIC_ACQUIRE))
            syscall(SYS_futex, &is_taken, FUTEX_WAIT, 0, 0, 0, 0);
        __atomic_store_n(&is_taken, 0, __ATOMIC_RELEASE);
        syscall(SYS_futex, &is_taken, FUTEX_WAKE, 1, 0, 0, 0);
    }
    REQUIRE(pthread_join(thread, 0) == 0);
    printf("%ld messages, the last is %lu\n", work * WAYS, (unsigned long)inbox.words[0]);
    return 0;
}
