// Thousands of calls that ask for events, requests of ioctl, locks, renamed files and large writes to a pipe, with good and bad arguments.
// rounds: 6 150
// children: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

static uint64_t polls(int ends[2], long round, char *edge)
{
    char byte = round;
    uint64_t sum = 0;
    struct pollfd polled[3] = {{ends[0], POLLIN, 7}, {ends[1], POLLOUT, 7}, {-1, POLLIN, 7}};
    sum = mix(sum, poll(polled, 3, 0) + polled[0].revents * 10 + polled[1].revents * 100 + polled[2].revents * 1000);
    sum = mix(sum, poll(polled, 1, 0) + polled[0].revents);
    REQUIRE(write(ends[1], &byte, 1) == 1);
    sum = mix(sum, poll(polled, 2, -1) + polled[0].revents * 10 + polled[1].revents * 100);
    sum = mix(sum, poll(polled, 1, 100000) + polled[0].revents);
    REQUIRE(read(ends[0], &byte, 1) == 1);
    if (round % 50 == 49) {
        // Nothing comes.
        sum = mix(sum, poll(polled, 1, 1) + polled[0].revents);
        sum = mix(sum, syscall(SYS_poll, 8, 1, 0) + errno);
        struct pollfd *last = (struct pollfd *)(edge + 4096 - sizeof *last);
        *last = (struct pollfd){ends[0], POLLIN, 7};
        sum = mix(sum, poll(last, 1, 0) + last->revents);
        sum = mix(sum, poll(last, 2, 0) + errno + last->revents);
        sum = mix(sum, syscall(SYS_poll, polled, 1u << 30, 0) + errno);
    }
    return sum;
}

static uint64_t waits(int epoll, int ends[2], long round, char *edge)
{
    char byte = round;
    uint64_t sum = 0;
    struct epoll_event events[8];
    memset(events, 5, sizeof events);
    sum = mix(sum, epoll_wait(epoll, events, 8, 0));
    REQUIRE(write(ends[1], &byte, 1) == 1);
    // Edge-triggered: it is told once.
    sum = mix(sum, epoll_wait(epoll, events, 8, -1) + events[0].events * 10 + events[0].data.u64);
    sum = mix(sum, epoll_wait(epoll, events, 8, 0) + events[1].events);
    REQUIRE(read(ends[0], &byte, 1) == 1);
    if (round % 2)
        sum = mix(sum, epoll_pwait(epoll, events, 8, 0, 0));
    if (round % 50 == 49) {
        sigset_t none;
        sigemptyset(&none);
        sum = mix(sum, epoll_wait(epoll, events, 8, 1));
        sum = mix(sum, epoll_pwait(epoll, events, 8, 0, &none));
        sum = mix(sum, syscall(SYS_epoll_wait, epoll, events, -1, 0) + errno);
        sum = mix(sum, epoll_wait(ends[0], events, 8, 0) + errno);
        REQUIRE(write(ends[1], &byte, 1) == 1);
        sum = mix(sum, syscall(SYS_epoll_wait, epoll, edge + 4090, 8, -1) + errno);
        sum = mix(sum, epoll_wait(epoll, events, 8, 0));
        REQUIRE(read(ends[0], &byte, 1) == 1);
    }
    return sum;
}

static uint64_t files(int file, int terminal, int ends[2], long round, char *edge)
{
    uint64_t sum = 0;
    struct termios modes;
    struct winsize size = {0, 0, 0, 0};
    int waiting = 7, copy;
    sum = mix(sum, ioctl(file, TCGETS, &modes) + errno);
    sum = mix(sum, ioctl(terminal, TIOCGWINSZ, &size) + size.ws_row);
    sum = mix(sum, syscall(SYS_ioctl, terminal, TCGETS, &modes) + modes.c_lflag);
    REQUIRE(write(ends[1], "abcdef", round % 6) == round % 6);
    sum = mix(sum, ioctl(ends[0], FIONREAD, &waiting) + waiting);
    char bytes[6];
    REQUIRE(round % 6 == 0 || read(ends[0], bytes, 6) == round % 6);
    struct flock lock = {F_WRLCK, SEEK_SET, round % 9, 5, 0};
    sum = mix(sum, fcntl(file, F_SETLK, &lock));
    lock.l_type = F_UNLCK;
    sum = mix(sum, fcntl(file, F_SETLK, &lock));
    sum = mix(sum, fcntl(file, F_GETLK, &lock) + lock.l_type);
    REQUIRE((copy = dup(file)) > file && lseek(copy, round % 7, SEEK_SET) == round % 7 && close(copy) == 0);
    sum = mix(sum, fdatasync(file));
    int made = open("one", O_RDWR | O_CREAT, 0600);
    REQUIRE(made >= 0 && close(made) == 0);
    sum = mix(sum, rename("one", round & 1 ? "two" : "twin") + link(round & 1 ? "two" : "twin", "three"));
    sum = mix(sum, rename("one", "two") + errno);
    sum = mix(sum, symlink("three", "four") + renameat(AT_FDCWD, "four", AT_FDCWD, "five"));
    sum = mix(sum, unlink("two") + unlink("twin") + unlink("three") + unlink("five"));
    if (round % 50 == 49) {
        strcpy(edge + 4096 - 4, "one");
        sum = mix(sum, rename("two", edge + 4096 - 4) + errno);
        sum = mix(sum, rename(edge + 4096 - 4, edge + 4096 - 3) + errno);
        memset(edge + 4000, 'x', 96);
        sum = mix(sum, rename("two", edge + 4000) + errno);
        sum = mix(sum, rename(edge + 4000, "two") + errno);
        sum = mix(sum, rename(0, "two") + errno);
        sum = mix(sum, rename("two", 0) + errno);
        // What a call writes up to where it can't.
        memset(edge + 4000, round, 96);
        sum = mix(sum, ioctl(terminal, TIOCGWINSZ, edge + 4092) + errno);
        sum = mix(sum, syscall(SYS_fstat, file, edge + 4096 - 50) + errno);
        sum = mix(sum, syscall(SYS_uname, edge + 4096 - 70) + errno);
        sum = mix(sum, syscall(SYS_pread64, file, "constant", 5, 0) + errno);
        sum = mix(sum, syscall(SYS_newfstatat, AT_FDCWD, "file", "constant", 0) + errno);
    }
    return sum;
}

// Natively such a write ends only when all is written: the reader is slow, and the pipe small.
static uint64_t large_writes(long times)
{
    static char large[300000];
    int ends[2], status;
    REQUIRE(pipe(ends) == 0);
    pid_t reader = fork();
    REQUIRE(reader >= 0);
    if (reader == 0) {
        REQUIRE(close(ends[1]) == 0);
        ssize_t got;
        while ((got = read(ends[0], large, 5000)) > 0)
            ;
        _exit(got);
    }
    REQUIRE(close(ends[0]) == 0);
    for (long i = 0; i < times; i++) {
        memset(large, i, sizeof large);
        for (int calls = 0; calls < 100; calls++)
            getppid();
        REQUIRE(write(ends[1], large, sizeof large) == sizeof large);
        REQUIRE(write(ends[1], large, 4096) == 4096);
    }
    REQUIRE(close(ends[1]) == 0 && waitpid(reader, &status, 0) == reader && status == 0);
    return times;
}

int main(int argc, char **argv)
{
    long n = rounds(argc, argv);
    uint64_t sum = large_writes(n / 10);
    char folder[] = "/tmp/superpin-events-........";
    for (int i = 0; i < 8; i++)
        *strchr(folder, '.') = 'a' + (getpid() >> 4 * i & 15);
    REQUIRE(mkdir(folder, 0700) == 0 && chdir(folder) == 0);
    char *edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0);
    int ends[2], others[2], file = open("file", O_RDWR | O_CREAT, 0600), terminal = posix_openpt(O_RDWR | O_NOCTTY);
    int epoll = epoll_create1(0);
    REQUIRE(pipe(ends) == 0 && pipe(others) == 0 && file >= 0 && terminal >= 0 && epoll >= 0);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data.u64 = 77};
    REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, others[0], &wanted) == 0);
    for (long round = 0; round < n; round++) {
        for (int calls = 0; calls < 20; calls++)
            getppid();
        sum = mix(sum, polls(ends, round, edge));
        sum = mix(sum, waits(epoll, others, round, edge));
        sum = mix(sum, files(file, terminal, ends, round, edge));
    }
    REQUIRE(unlink("file") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
    return report("events", sum);
}
