// A loopback server with epoll and non-blocking sockets; clients are child processes.
// rounds: 0 3
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void client(struct sockaddr_in address, int number)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (void *)&address, sizeof address) != 0)
        _exit(1);
    for (int i = 0; i < 200; i++) {
        uint32_t question = number * 1000 + i, answer;
        if (send(fd, &question, 4, 0) != 4 || recv(fd, &answer, 4, MSG_WAITALL) != 4 || answer != question * 3)
            _exit(2);
        if (i % 50 == 0)
            usleep(2000);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), events = epoll_create1(0);
    REQUIRE(bind(listener, (void *)&address, len) == 0 && listen(listener, 9) == 0);
    REQUIRE(getsockname(listener, (void *)&address, &len) == 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    REQUIRE(epoll_ctl(events, EPOLL_CTL_ADD, listener, &event) == 0);
    long clients = rounds(argc, argv), open = clients, asked = 0;
    for (int i = 0; i < clients; i++)
        if (fork() == 0)
            client(address, i);
    while (open > 0) {
        struct epoll_event ready[4];
        int count = epoll_wait(events, ready, 4, -1);
        REQUIRE(count > 0 || errno == EINTR);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            uint32_t question;
            if (fd == listener) {
                event.data.fd = accept4(listener, (void *)&address, &len, SOCK_NONBLOCK);
                REQUIRE(event.data.fd >= 0 && epoll_ctl(events, EPOLL_CTL_ADD, event.data.fd, &event) == 0);
                continue;
            }
            ssize_t got = recv(fd, &question, 4, 0);
            if (got == 0) {
                close(fd);
                open--;
            } else {
                REQUIRE(got == 4);
                question *= 3;
                asked++;
                REQUIRE(send(fd, &question, 4, 0) == 4);
            }
        }
    }
    int status;
    while (wait(&status) > 0)
        REQUIRE(status == 0);
    return report("asked", asked);
}
