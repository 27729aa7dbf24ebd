// Clocks, getrandom, pids, usage: results that differ in each run and steer how much is computed.
// rounds: 0 50
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0, last = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct timespec now;
        struct timeval day;
        struct rusage usage;
        struct tms tms;
        unsigned char random[200];
        REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && gettimeofday(&day, 0) == 0);
        REQUIRE(getrandom(random, sizeof random, 0) == sizeof random);
        REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0 && times(&tms) != -1 && time(0) > 0);
        uint64_t nanoseconds = now.tv_sec * 1000000000ul + now.tv_nsec;
        REQUIRE(nanoseconds >= last);
        last = nanoseconds;
        unsigned work = random[0] * 20u + day.tv_usec % 1000 + getpid() % 100;
        for (unsigned i = 0; i < work; i++)
            sum = mix(sum, random[i % 200]);
    }
    REQUIRE(sum != 0);
    puts("time passed");
    return 0;
}
