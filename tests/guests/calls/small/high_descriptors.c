// Small calls, some of them on descriptors with high numbers, where valgrind and shells keep theirs: beyond what the recorder has places for.
// rounds: 1 3
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int high = limit.rlim_max > 20480 ? 20000 : (int)limit.rlim_max - 100;
    int low = open("/proc/self/exe", O_RDONLY);
    int file = fcntl(low, F_DUPFD, high);
    REQUIRE(low >= 0 && file >= high);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        unsigned char bytes[16] = {0};
        for (int n = 0; n < 300; n++)
            sum = mix(sum, pread(low, bytes, 16, n) + bytes[n % 16]);
        sum = mix(sum, pread(file, bytes, 16, round) + bytes[round % 16]);
    }
    return report("high", sum);
}
