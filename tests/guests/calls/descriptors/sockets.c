// Sockets: a pair with descriptors and scattered messages passed over it, TCP and UDP over loopback.
// rounds: 0 8
#define _GNU_SOURCE
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static uint64_t pass_descriptor(int pair[2])
{
    char payload[] = "message", control[CMSG_SPACE(sizeof(int))] = {0}, a[3], b[16];
    struct iovec out = {payload, 7}, in[] = {{a, 3}, {b, 16}};
    struct msghdr message = {.msg_iov = &out, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &pair[0], sizeof(int));
    REQUIRE(sendmsg(pair[0], &message, 0) == 7);
    message.msg_iov = in;
    message.msg_iovlen = 2;
    REQUIRE(recvmsg(pair[1], &message, 0) == 7);
    int received;
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    uint64_t seen = a[2] * 256 + b[3] + received;
    close(received);
    return seen;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = mix(sum, pass_descriptor(pair));
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, peer;
        socklen_t length = sizeof address;
        int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
        REQUIRE(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 4) == 0);
        REQUIRE(getsockname(server, (struct sockaddr *)&address, &length) == 0);
        REQUIRE(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
        length = sizeof peer;
        int accepted = accept(server, (struct sockaddr *)&peer, &length);
        REQUIRE(accepted >= 0);
        sum = mix(sum, length + peer.sin_family);
        char buffer[100];
        REQUIRE(send(client, "over the wire", 13, 0) == 13 && recv(accepted, buffer, 100, 0) == 13);
        sum = mix(sum, buffer[9]);
        int value = 0;
        length = sizeof value;
        REQUIRE(getsockopt(server, SOL_SOCKET, SO_TYPE, &value, &length) == 0);
        sum = mix(sum, value + length);
        close(server);
        close(client);
        close(accepted);
        int udp = socket(AF_INET, SOCK_DGRAM, 0);
        address.sin_port = 0;
        length = sizeof address;
        REQUIRE(bind(udp, (struct sockaddr *)&address, sizeof address) == 0);
        REQUIRE(getsockname(udp, (struct sockaddr *)&address, &length) == 0);
        REQUIRE(sendto(udp, "datagram", 8, 0, (struct sockaddr *)&address, length) == 8);
        length = sizeof peer;
        REQUIRE(recvfrom(udp, buffer, 100, 0, (struct sockaddr *)&peer, &length) == 8);
        sum = mix(sum, buffer[4] + (peer.sin_port == address.sin_port));
        close(udp);
    }
    return report("sockets", sum);
}
