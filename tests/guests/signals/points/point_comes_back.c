// Signals come in a loop that counts in memory up and down: registers and stack recur, and so do the words near by. What the handler does depends on what is counted.
// rounds: 0 3000000
// totals: vary
#include "points.h"

static volatile uint64_t up[4096], down[4096];

static void looks(int signal)
{
    tick(signal);
    for (uint64_t left = (up[2048] ^ down[1024]) % 512; left > 0; left--)
        __asm__ volatile("");
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, looks);
    every(OFTEN);
    down[1024] = rounds(argc, argv);
    while (down[1024] > 0) {
        for (int i = 0; i < 4; i++)
            up[2048]++;
        for (int i = 0; i < 4; i++)
            up[2048]--;
        down[1024]--;
    }
    every(0);
    return report("back", up[2048] + down[1024]);
}
