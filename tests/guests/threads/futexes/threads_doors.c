// Threads that hand on to each other over and over, by futexes, some with a timeout that never comes; one lets the others go first. What each has in its registers is its own.
// build plain: -O1 -pthread
// rounds: 150 600
// totals: vary
// order: varies
#include "doors.h"
#include <immintrin.h>
#include <time.h>

static uint64_t token = 5, sums[DOORS];
static long work;

static void *go_round(void *number)
{
    uintptr_t self = (uintptr_t)number;
    uint64_t sum = self;
    __m128i kept = _mm_set1_epi64x(0x1111 * (self + 1));
    uint32_t other = 1;
    struct timespec never = {.tv_sec = 1L << 40};
    live(&alive[self]);
    for (long round = 0; round < work; round++) {
        wait_at(self);
        sum = mix(sum, token);
        token = mix(token, self);
        // A call of the kind that waits, and doesn't.
        REQUIRE(syscall(SYS_futex, &other, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &never, 0, 1) == -1);
        if (self == 1)
            sched_yield();
        __asm__ volatile("paddq %1, %0" : "+x"(kept) : "x"(_mm_set1_epi64x(self)));
        open_door((self + 1) % DOORS);
    }
    sums[self] = mix(sum, (uint64_t)_mm_cvtsi128_si64(kept));
    return end_thread(0);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    work = rounds(argc, argv);
    start_all(go_round);
    go();
    for (int i = 0; i < DOORS; i++)
        sum = mix(sum, sums[i]);
    return report("doors", mix(sum, token));
}
