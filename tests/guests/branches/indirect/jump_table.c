// A switch with many arms, compiled to a jump table.
// build pie: -O2
// build nopie: -O2 -fno-pie -no-pie
// rounds: 10 5000
#include "guest.h"

static uint64_t __attribute__((noinline)) arm(unsigned which, uint64_t x)
{
    switch (which) {
    case 0: return x + 3;
    case 1: return x * 5;
    case 2: return x ^ 0x55;
    case 3: return ~x;
    case 4: return x >> 3;
    case 5: return x << 2;
    case 6: return x - 9;
    case 7: return x / 3;
    case 8: return x % 1000003;
    case 9: return x | 0x100;
    case 10: return x & ~0x80ul;
    case 11: return -x;
    case 12: return x * x;
    case 13: return x + (x >> 32);
    default: return x ^ which;
    }
}

int main(int argc, char **argv)
{
    uint64_t sum = 12345;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int i = 0; i < 500; i++)
            sum = mix(arm(sum % 17, sum), i);
    return report("arms", sum);
}
