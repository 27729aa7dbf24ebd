// One thread ends the process while others are in the middle of calls: one receives, one writes, the first waits for a futex.
// build plain: -O1 -pthread
// rounds: 1 10
// order: varies
#include "threads.h"
#include <poll.h>
#include <sys/socket.h>

enum { MUCH = 1 << 20 };

static int word = 1, elsewhere, sockets[2], full[2];
static long times;

static void *receive(void *unused)
{
    static char bytes[MUCH + 1];
    call(SYS_recvfrom, sockets[0], (long)bytes, sizeof bytes, MSG_WAITALL, 0, 0);
    abort();
}

static void *write_much(void *unused)
{
    static char bytes[MUCH];
    call(SYS_write, full[1], (long)bytes, sizeof bytes, 0, 0, 0);
    abort();
}

// What others do tells that they are in their calls, however late they come: only then the number of instructions is certain.
static void *end_all(void *unused)
{
    static char bytes[MUCH];
    char byte;
    // Neither a socket nor a pipe holds as much.
    REQUIRE(call(SYS_write, sockets[1], (long)bytes, MUCH, 0, 0, 0) == MUCH);
    REQUIRE(call(SYS_read, full[0], (long)&byte, 1, 0, 0, 0) == 1);
    // A thread that waits can be made to wait elsewhere. As many attempts in any case.
    long moved = 0;
    for (int i = 0; i < 500; i++) {
        moved += call(SYS_futex, (long)&word, FUTEX_CMP_REQUEUE, 0, 1, (long)&elsewhere, 1);
        call(SYS_poll, 0, 0, 20 * (1 - moved), 0, 0, 0);
    }
    REQUIRE(moved == 1);
    uint64_t sum = 0;
    for (long i = 0; i < times; i++)
        sum = mix(sum, i);
    report("together", sum);
    fflush(stdout);
    call(SYS_exit_group, 5, 0, 0, 0, 0, 0);
    abort();
}

int main(int argc, char **argv)
{
    times = 1000 * rounds(argc, argv);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 && pipe(full) == 0);
    start(receive, 0);
    start(write_much, 0);
    start(end_all, 0);
    call(SYS_futex, (long)&word, FUTEX_WAIT, 1, 0, 0, 0);
    abort();
}
