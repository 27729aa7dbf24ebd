// Asks the clock again and again until enough time has passed.
// rounds: 0 5
// totals: vary
#include "guest.h"
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    long asked = 0;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        asked++;
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < rounds(argc, argv));
    REQUIRE(asked > 0);
    puts("time is up");
    return 0;
}
