// Bytes that a system call writes to a page while another thread executes code on it: they arrive whole, and new code is seen.
// build plain: -O1 -pthread
// rounds: 0 16
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { DATA = 1024, LEN = 2000 };

static unsigned char *page;
static atomic_long stop, calls;
static int ends[2], to_reader[2];

static uint32_t call(int at)
{
    return ((uint32_t(*)(void))(uintptr_t)(page + at))();
}

static void *executes(void *unused)
{
    while (!stop) {
        REQUIRE(call(0) == 77);
        calls++;
    }
    return unused;
}

static void *writes(void *count)
{
    unsigned char bytes[LEN];
    for (long i = 1; i <= (long)(uintptr_t)count; i++) {
        char token;
        REQUIRE(read(to_reader[0], &token, 1) == 1);
        usleep(500); // the other one waits in read
        memset(bytes, i, sizeof bytes);
        unsigned char code[6] = {0xb8, i, 0, 0, 0, 0xc3};
        memcpy(bytes, code, sizeof code);
        REQUIRE(write(ends[1], bytes, sizeof bytes) == sizeof bytes);
    }
    return 0;
}

int main(int argc, char **argv)
{
    long all = rounds(argc, argv);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED && pipe(to_reader) == 0);
    memcpy(page, (unsigned char[]){0xb8, 77, 0, 0, 0, 0xc3}, 6);
    pthread_t executing, writing;
    uint64_t sum = 0;
    for (int kind = 0; kind < 2; kind++) {
        REQUIRE(kind ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 : pipe(ends) == 0);
        stop = 0;
        REQUIRE(pthread_create(&executing, 0, executes, 0) == 0);
        REQUIRE(pthread_create(&writing, 0, writes, (void *)all) == 0);
        for (long i = 1; i <= all; i++) {
            REQUIRE(write(to_reader[1], "x", 1) == 1);
            size_t got = 0;
            while (got < LEN) {
                ssize_t n = read(ends[0], page + DATA + got, LEN - got);
                REQUIRE(n > 0);
                got += n;
            }
            for (int k = 6; k < LEN; k++)
                REQUIRE(page[DATA + k] == (unsigned char)i);
            REQUIRE(call(DATA) == (unsigned char)i);
            sum = mix(sum, call(DATA));
        }
        // What the kernel can't do again: it takes a child's status once.
        for (long i = 1; i <= 5; i++) {
            pid_t child = fork();
            if (child == 0) {
                usleep(5000);
                _exit(i);
            }
            int *status = (int *)(page + 4000);
            REQUIRE(waitpid(child, status, 0) == child && WEXITSTATUS(*status) == i);
        }
        stop = 1;
        pthread_join(executing, 0);
        pthread_join(writing, 0);
    }
    REQUIRE(calls > 0);
    report("read", sum);
    return 0;
}
