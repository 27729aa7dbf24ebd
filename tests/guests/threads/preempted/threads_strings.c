// Threads that copy, fill and compare with string instructions that repeat: turns end in the middle of these.
// build plain: -O1 -pthread
// rounds: 3 4000
// order: varies
#include "threads.h"

enum { THREADS = 3, SIZE = 40000 };

static int alive[THREADS + 1], begun[2];
static unsigned char bytes[THREADS + 1][2][SIZE];
static uint64_t sums[THREADS + 1];
static long work;

static void *move(void *number)
{
    uintptr_t self = (uintptr_t)number;
    live(&alive[self]);
    give(begun, self);
    uint64_t sum = self;
    for (long i = 0; i < work; i++) {
        unsigned char *from = bytes[self][0], *to = bytes[self][1];
        uint64_t left = SIZE;
        __asm__ volatile("rep stosb" : "+D"(from), "+c"(left) : "a"(sum) : "memory");
        from = bytes[self][0], left = SIZE;
        __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(left) : : "memory");
        bytes[self][0][sum % SIZE]++;
        from = bytes[self][0], to = bytes[self][1], left = SIZE;
        __asm__ volatile("repe cmpsb" : "+S"(from), "+D"(to), "+c"(left) : : "memory", "cc");
        sum = mix(sum, left);
    }
    sums[self] = sum;
    return end_thread(0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    work = rounds(argc, argv);
    REQUIRE(pipe(begun) == 0);
    for (int i = 1; i <= THREADS; i++)
        start(move, i);
    for (int i = 1; i <= THREADS; i++)
        sum += take(begun);
    for (int i = 1; i <= THREADS; i++)
        wait_for_end(&alive[i]);
    for (int i = 1; i <= THREADS; i++)
        sum = mix(sum, sums[i]);
    report("strings", sum);
    return 0;
}
