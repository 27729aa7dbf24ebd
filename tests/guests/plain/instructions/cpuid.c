// cpuid: the same answers each time, vendor and features those of this CPU.
// rounds: 3 400
#include "guest.h"
#include <cpuid.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        unsigned a, b, c, d;
        REQUIRE(__get_cpuid(0, &a, &b, &c, &d));
        sum = mix(sum, a ^ b ^ c ^ d);
        REQUIRE(__get_cpuid_count(7, 0, &a, &b, &c, &d));
        sum = mix(sum, b);
    }
    return report("cpuid", sum);
}
