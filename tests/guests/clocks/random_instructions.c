// rdrand and rdpid: their values steer how much is computed and leave no trace in memory.
// build plain: -O1
// rounds: 0 20000
// totals: vary
// needs: rdrand rdpid
#include "guest.h"

static __attribute__((noinline)) uint64_t randomness(void)
{
    uint64_t random, processor;
    unsigned char valid;
    __asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(random), "=q"(valid) : : "cc");
    __asm__ volatile("rdpid %0" : "=r"(processor));
    REQUIRE(valid);
    return random + processor;
}

// Quicksort with random pivots: the outcome is the same whatever they are.
static void sort(uint64_t *first, uint64_t *last)
{
    while (last - first > 1) {
        uint64_t pivot = first[randomness() % (last - first)], *low = first, *high = last - 1;
        while (low <= high) {
            while (*low < pivot)
                low++;
            while (*high > pivot)
                high--;
            if (low <= high) {
                uint64_t kept = *low;
                *low++ = *high;
                *high-- = kept;
            }
        }
        sort(first, high + 1);
        first = low;
    }
}

int main(int argc, char **argv)
{
    static uint64_t values[1000];
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round += 1000) {
        for (int i = 0; i < 1000; i++)
            values[i] = mix(round, i);
        sort(values, values + 1000);
        sum = mix(sum, values[500]);
    }
    return report("sorted", sum);
}
