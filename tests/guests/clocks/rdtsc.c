// rdtsc and rdtscp: values that only go up and steer how much is computed.
// rounds: 0 300
// totals: vary
#include "guest.h"
#include <x86intrin.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0, last = __rdtsc();
    for (long round = 0; round < rounds(argc, argv); round++) {
        unsigned processor;
        uint64_t now = round & 1 ? __rdtsc() : __rdtscp(&processor);
        REQUIRE(now >= last);
        for (unsigned i = 0; i < now % 997; i++)
            sum = mix(sum, now);
        last = now;
    }
    puts("cycles passed");
    return sum == 0;
}
