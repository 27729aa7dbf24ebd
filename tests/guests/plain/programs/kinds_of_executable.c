// The same work in every kind of executable that the kernel starts.
// build pie: -O2 -fPIE -pie
// build nopie: -O2 -fno-pie -no-pie
// build static: -O2 -static -fno-pie -no-pie
// build static-pie: -O2 -static-pie -fPIE
// build debug: -O0 -g
// rounds: 2 30000
#include "guest.h"

static uint64_t table[64];
static uint64_t *const inside = table + 7; // needs a relocation in position-independent code

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int i = 0; i < 1000; i++) {
            inside[i % 40] += mix(sum, i);
            sum ^= table[i % 64];
        }
    return report("kinds", sum);
}
