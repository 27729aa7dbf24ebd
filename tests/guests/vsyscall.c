// The old vsyscall page: a serial run makes the calls, a sliced run can't record what the kernel answers and says so.
// rounds: 0 20
// totals: vary
// refused sliced: vsyscall
#include "guest.h"
#include <sys/time.h>
#include <time.h>

int main(int argc, char **argv)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int there = 0;
    while (maps && fgets(line, sizeof line, maps))
        there |= strstr(line, "[vsyscall]") != 0;
    REQUIRE(there);
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct timeval now;
        long seconds = time(0);
        REQUIRE(((long (*)(struct timeval *, void *))0xffffffffff600000)(&now, 0) == 0);
        long then = ((long (*)(long *))0xffffffffff600400)(0);
        REQUIRE(now.tv_sec >= seconds - 1 && then >= seconds - 1);
    }
    puts("the page answers");
    return 0;
}
