// A stack of tens of megabytes, touched all the way down and up again.
// rounds: 1 1
#include "guest.h"
#include <sys/resource.h>

static uint64_t descend(int levels, uint64_t sum)
{
    volatile char frame[4000];
    frame[0] = (char)sum;
    frame[sizeof frame - 1] = (char)levels;
    uint64_t below = levels ? descend(levels - 1, mix(sum, levels)) : sum;
    return mix(below, (unsigned char)frame[0] + (unsigned char)frame[sizeof frame - 1]);
}

int main(void)
{
    return report("deep", descend(1800, 1));
}
