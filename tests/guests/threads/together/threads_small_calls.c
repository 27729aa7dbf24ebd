// Threads that make thousands of small calls (clocks, numbers, files, wakes without waiters), and between them wait for each other.
// build plain: -O1 -pthread -Wl,-z,now
// rounds: 2 20
// order: varies
#define _GNU_SOURCE
#include "threads.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

enum { THREADS = 3, CALLS = 60 };

static int ring[THREADS][2], alive[THREADS], begun[2];
static uint64_t sums[THREADS];
static long work;

static void *call_often(void *number)
{
    uintptr_t self = (uintptr_t)number, next = (self + 1) % THREADS;
    uint32_t word = 0;
    uint64_t bytes, sum = self;
    struct timespec now;
    live(&alive[self]);
    give(begun, 1);
    int file = memfd_create("small calls", 0);
    REQUIRE(file >= 0);
    for (long round = 0; round < work; round++) {
        for (long i = 0; i < CALLS; i++) {
            // The C library's, since superpin has a way for these.
            REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && getppid() >= 0);
            REQUIRE(pwrite(file, &sum, sizeof sum, 8 * i) == sizeof sum && lseek(file, 8 * i, SEEK_SET) == 8 * i);
            REQUIRE(read(file, &bytes, sizeof bytes) == sizeof bytes && bytes == sum);
            REQUIRE(syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0) == 0);
            sum = mix(sum, i);
        }
        sum = mix(sum, take(ring[self]));
        give(ring[next], sum);
    }
    sums[self] = sum;
    return end_thread(0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    work = rounds(argc, argv);
    REQUIRE(pipe(begun) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pipe(ring[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        start(call_often, i);
    for (int i = 0; i < THREADS; i++)
        take(begun);
    give(ring[0], 7);
    for (int i = 0; i < THREADS; i++)
        wait_for_end(&alive[i]);
    for (int i = 0; i < THREADS; i++)
        sum = mix(sum, sums[i]);
    report("small calls", sum);
    return 0;
}
