// Signals come in a loop that counts in memory only, where no register points: at each round all registers and the stack are the same. What the handler computes depends on
// the counter, and leaves no trace.
// build fast: -O1
// rounds: 0 4000000
// totals: vary
#include "points.h"

static volatile uint64_t cells[1 << 16];

static void looks(int signal)
{
    tick(signal);
    for (uint64_t left = cells[60000] % 1000; left > 0; left--)
        __asm__ volatile("");
}

static __attribute__((noinline)) void step(void)
{
    cells[60000]++;
    __asm__ volatile("xor %%eax, %%eax\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n xor %%esi, %%esi\n xor %%edi, %%edi" : : : "rax", "rcx", "rdx", "rsi", "rdi", "cc");
    __asm__ volatile("nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop");
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, looks);
    every(OFTEN);
    cells[60001] = rounds(argc, argv);
    while (cells[60000] < cells[60001])
        step();
    every(0);
    return report("far memory", cells[60000]);
}
