// Thousands of calls on sockets, signal masks and the like, with good and bad arguments: what waits and what doesn't, and what is lost.
// rounds: 4 150
// children: vary
#define _GNU_SOURCE
#include "guest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

static volatile sig_atomic_t signals;

static void count(int signal)
{
    signals += signal;
}

// A stream: whole, in parts, looked at, too much, none.
static uint64_t streams(int pair[2], long round, char *edge)
{
    char bytes[5000], back[5000];
    uint64_t sum = 0;
    size_t len = 1 + round * 31 % 4096;
    memset(bytes, round, sizeof bytes);
    REQUIRE(write(pair[0], bytes, len) == (ssize_t)len);
    sum = mix(sum, recv(pair[1], back, 1, MSG_PEEK) + back[0]);
    sum = mix(sum, read(pair[1], back, sizeof back) + back[len - 1]);
    sum = mix(sum, recv(pair[1], back, 5, MSG_DONTWAIT) + errno);
    REQUIRE(send(pair[0], "abc", 3, MSG_MORE) == 3 && send(pair[0], "def", 3, MSG_NOSIGNAL) == 3);
    sum = mix(sum, recv(pair[1], back, 6, MSG_WAITALL) + back[5]);
    // Where the next page isn't there, there is room for what comes, or there isn't.
    REQUIRE(send(pair[1], bytes, 40, 0) == 40);
    sum = mix(sum, recv(pair[0], edge + 4096 - 20, 40, MSG_DONTWAIT) + errno);
    sum = mix(sum, recv(pair[0], edge + 4096 - 20, 20, MSG_DONTWAIT) + edge[4090]);
    sum = mix(sum, recv(pair[0], back, 20, MSG_DONTWAIT));
    sum = mix(sum, send(pair[0], edge + 4096 - 20, 40, 0) + errno);
    sum = mix(sum, recv(pair[1], back, 40, MSG_DONTWAIT) + errno);
    sum = mix(sum, send(pair[0], 0, 0, 0) + recv(pair[1], 0, 0, MSG_DONTWAIT) + errno);
    sum = mix(sum, syscall(SYS_pread64, pair[0], back, 4, 0) + errno);
    return sum;
}

// Messages: one that can't be stored is gone.
static uint64_t messages(int pair[2], long round, char *edge)
{
    char back[100] = {0};
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++)
        REQUIRE(send(pair[0], &round, sizeof round, 0) == sizeof round);
    sum = mix(sum, recv(pair[1], back, 3, 0) + back[0]);
    sum = mix(sum, recv(pair[1], edge + 4096 - 4, 8, 0) + errno + edge[4092]);
    sum = mix(sum, recv(pair[1], back, 100, MSG_TRUNC | MSG_DONTWAIT) + back[0]);
    sum = mix(sum, recv(pair[1], back, 100, MSG_DONTWAIT) + errno);
    return sum;
}

// Pieces, some of which aren't there, some too long, some none.
static uint64_t pieces(int pair[2], long round, char *edge)
{
    static char large[20000];
    char back[200];
    uint64_t sum = 0;
    memset(large, round, sizeof large);
    struct iovec three[] = {{"abc", 3}, {0, 0}, {large, 1 + round % 90}}, bad[] = {{"defg", 4}, {edge + 4090, 7}};
    struct iovec long_ones[] = {{large, 4000}, {"hij", 3}, {large, sizeof large}}, many[20];
    for (int i = 0; i < 20; i++)
        many[i] = (struct iovec){large + i, 2};
    ssize_t len = 4 + round % 90;
    REQUIRE(writev(pair[0], three, 3) == len && recv(pair[1], back, 200, 0) == len);
    sum = mix(sum, back[1] + back[len - 1]);
    static int file = -1;
    REQUIRE(file >= 0 || (file = open("/dev/null", O_WRONLY)) >= 0);
    sum = mix(sum, writev(file, long_ones, 3) + writev(file, many, 16) + writev(file, three, 0));
    if (round % 20 == 7) {
        sum = mix(sum, writev(file, many, 20) + pwritev(file, three, 3, 5) + writev(file, bad, 2) + errno);
        sum = mix(sum, writev(file, (struct iovec *)(edge + 4096 - 16), 2) + errno);
        sum = mix(sum, writev(file, (struct iovec[]){{large, -1}}, 1) + errno);
    }
    return sum;
}

static uint64_t fill(int fd, int from)
{
    char bytes[8000] = {1};
    uint64_t sum = 0;
    ssize_t sent, total = 0, got = 0;
    while ((sent = write(fd, bytes, sizeof bytes)) > 0)
        total += sent;
    REQUIRE(sent == -1 && errno == EAGAIN);
    while (got < total) {
        sent = read(from, bytes, sizeof bytes);
        REQUIRE(sent > 0);
        got += sent;
    }
    sum = mix(sum, got == total);
    return sum;
}

static uint64_t connection(long round)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    REQUIRE(bind(listener, (void *)&address, len) == 0 && listen(listener, 3) == 0);
    REQUIRE(getsockname(listener, (void *)&address, &len) == 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(setsockopt(client, IPPROTO_TCP, 1, &one, sizeof one) == 0);
    REQUIRE(connect(client, (void *)&address, sizeof address) == 0);
    int server = accept(listener, 0, 0);
    uint64_t sum = 0;
    for (int i = 0; i < 20; i++) {
        char bytes[64];
        memset(bytes, i, 64);
        REQUIRE(send(client, bytes, 64, 0) == 64 && recv(server, bytes, 64, MSG_WAITALL) == 64);
        REQUIRE(write(server, bytes, 1) == 1 && read(client, bytes + 1, 1) == 1);
        sum = mix(sum, bytes[1] + round);
    }
    REQUIRE(shutdown(client, SHUT_WR) == 0);
    sum = mix(sum, recv(server, &one, 4, 0));
    REQUIRE(close(server) == 0 && close(client) == 0 && close(listener) == 0);
    return sum;
}

static uint64_t masks(long round, char *edge)
{
    sigset_t usr1, all, old;
    uint64_t sum = 0;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_BLOCK, &usr1, &old) == 0);
    sum = mix(sum, sigismember(&old, SIGUSR1));
    if (round % 8 == 3) {
        REQUIRE(kill(getpid(), SIGUSR1) == 0);
        sum = mix(sum, signals);
    }
    REQUIRE(sigprocmask(SIG_SETMASK, 0, &old) == 0);
    sum = mix(sum, sigismember(&old, SIGUSR1));
    REQUIRE(sigprocmask(SIG_UNBLOCK, &usr1, 0) == 0);
    sum = mix(sum, signals);
    if (round % 8 == 5) {
        // All of them, those among them by which programs are traced.
        REQUIRE(sigprocmask(SIG_SETMASK, &all, &old) == 0 && getppid() > 0);
        REQUIRE(sigprocmask(SIG_SETMASK, &old, &all) == 0);
        sum = mix(sum, sigismember(&all, SIGTRAP));
        sum = mix(sum, syscall(SYS_rt_sigprocmask, 7, &usr1, 0, 8) + errno);
        sum = mix(sum, syscall(SYS_rt_sigprocmask, SIG_BLOCK, edge + 4092, 0, 8) + errno);
        sum = mix(sum, syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, edge + 4092, 8) + errno);
        sum = mix(sum, syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, 0, 16) + errno);
        REQUIRE(sigprocmask(SIG_UNBLOCK, &usr1, 0) == 0);
    }
    return sum;
}

static uint64_t others(int epoll, int fd, long round)
{
    uint64_t sum = 0;
    uint32_t word = round;
    char random[300];
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = round};
    sum = mix(sum, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted));
    sum = mix(sum, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) + errno);
    sum = mix(sum, epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &wanted) + epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0));
    sum = mix(sum, syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0));
    sum = mix(sum, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word + 1, 0, 0, 0) + errno);
    sum = mix(sum, getrandom(random, 16, 0) + getrandom(random, 300, GRND_NONBLOCK));
    int event = eventfd(1, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), ends[2];
    struct itimerspec late = {{0, 0}, {1000, 0}}, left = {{7, 7}, {7, 7}};
    sum = mix(sum, timerfd_settime(timer, 0, &late, &left) + left.it_value.tv_sec);
    REQUIRE(timerfd_gettime(timer, &left) == 0);
    sum = mix(sum, left.it_value.tv_sec > 900);
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "x", 1) == 1 && read(ends[0], random, 1) == 1);
    sum = mix(sum, random[0]);
    REQUIRE(close(ends[0]) == 0 && close(ends[1]) == 0 && close(event) == 0 && close(timer) == 0);
    int here = open(".", O_RDONLY | O_DIRECTORY);
    REQUIRE(fchdir(here) == 0 && close(here) == 0);
    return sum;
}

// What is sent to a slow reader waits in the middle.
static uint64_t slow(long times)
{
    static char large[200000];
    int pair[2], status;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pid_t reader = fork();
    REQUIRE(reader >= 0);
    if (reader == 0) {
        REQUIRE(close(pair[1]) == 0);
        ssize_t got;
        while ((got = read(pair[0], large, 3000)) > 0)
            ;
        _exit(got);
    }
    REQUIRE(close(pair[0]) == 0);
    for (long i = 0; i < times; i++) {
        for (int calls = 0; calls < 100; calls++)
            REQUIRE(send(pair[1], large, 4000, 0) == 4000);
        REQUIRE(write(pair[1], large, sizeof large) == sizeof large);
    }
    REQUIRE(close(pair[1]) == 0 && waitpid(reader, &status, 0) == reader && status == 0);
    return times;
}

int main(int argc, char **argv)
{
    long n = rounds(argc, argv);
    uint64_t sum = slow(n / 10);
    int stream[2], parts[2], full[2], epoll = epoll_create1(0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, stream) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, parts) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, full) == 0);
    char *edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0 && signal(SIGUSR1, count) != SIG_ERR);
    for (long round = 0; round < n; round++) {
        for (int calls = 0; calls < 30; calls++)
            getppid();
        sum = mix(sum, streams(stream, round, edge));
        sum = mix(sum, messages(parts, round, edge));
        sum = mix(sum, pieces(stream, round, edge));
        sum = mix(sum, masks(round, edge));
        sum = mix(sum, others(epoll, stream[0], round));
        if (round % 50 == 20)
            sum = mix(sum, fill(full[0], full[1]) + connection(round));
    }
    signal(SIGPIPE, count);
    REQUIRE(close(stream[1]) == 0 && send(stream[0], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
    sum = mix(sum, signals);
    REQUIRE(write(stream[0], "x", 1) == -1 && errno == EPIPE);
    return report("sockets", mix(sum, signals));
}
