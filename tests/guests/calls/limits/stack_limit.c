// Raises the limit of its stack, and then calls deeper than the old one allowed.
// rounds: 0 3
#include "guest.h"
#include <sys/resource.h>

static __attribute__((noinline)) uint64_t deep(int depth, volatile char *above)
{
    volatile char room[4000];
    room[0] = above ? above[0] + depth : 1;
    return depth ? mix(deep(depth - 1, room), room[0]) : 1;
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    uint64_t sum = 0;
    for (long round = 1; round <= rounds(argc, argv); round++) {
        REQUIRE(getrlimit(RLIMIT_STACK, &limit) == 0);
        rlim_t wanted = limit.rlim_cur + (4 << 20);
        // Nothing to be tried where there is no limit, or where it can't be raised.
        if (limit.rlim_cur == RLIM_INFINITY || wanted > limit.rlim_max)
            break;
        limit.rlim_cur = wanted;
        REQUIRE(setrlimit(RLIMIT_STACK, &limit) == 0);
        sum = mix(sum, deep((wanted - (1 << 20)) / 4100, 0));
    }
    return report("deep", sum);
}
