// Calls the old vsyscall page in the way of old programs: what it answers is recorded.
// rounds: 0 60
#include "guest.h"
#include <sys/time.h>
#include <time.h>

int main(int argc, char **argv)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int there = 0;
    volatile uint64_t sum = 1;
    while (maps && fgets(line, sizeof line, maps))
        there |= strstr(line, "[vsyscall]") != 0;
    REQUIRE(there);
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct timeval now;
        long seconds = time(0);
        REQUIRE(((long (*)(struct timeval *, void *))0xffffffffff600000)(&now, 0) == 0);
        long then = ((long (*)(long *))0xffffffffff600400)(0);
        REQUIRE(now.tv_sec >= seconds - 1 && then >= seconds - 1);
        unsigned processor = 4096, node = 4096;
        REQUIRE(((long (*)(unsigned *, unsigned *, void *))0xffffffffff600800)(&processor, &node, 0) == 0);
        REQUIRE(processor < 4096 && node < 4096);
        sum = mix(sum, now.tv_usec + processor);
    }
    REQUIRE(sum != 0);
    puts("the page answers");
    return 0;
}
