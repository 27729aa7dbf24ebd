// Vector registers that XRSTOR has taken out of use stay so while nothing uses them (XGETBV and XSAVE tell, on processors that keep count), and all floating-point exceptions
// are unmasked meanwhile. A thread that the kernel preempts gets them back in use: such a round is done again, and a slice, which is preempted elsewhere, doesn't do the same.
// build plain: -O1 -mxsave
// needs: xgetbv1
// totals: vary
// refused sliced: superpin: slice
// counted: by chance
// rounds: 200 3000
#include "guest.h"

enum { SSE = 2, TRIES = 50 };

static _Alignas(64) unsigned char unused[16384], image[16384];

// What XGETBV and XSAVE say of the registers behind an XRSTOR that has them unused, and some instructions.
static uint32_t look(void)
{
    uint32_t in_use;
    memset(image + 512, 0, 64);
    __asm__ volatile("mov $2, %%eax\n\t"
                     "xor %%edx, %%edx\n\t"
                     "xrstor64 %1\n\t"
                     "mov $5, %%ecx\n"
                     "1:\n\t"
                     "dec %%ecx\n\t"
                     "jnz 1b\n\t"
                     "mov $1, %%ecx\n\t"
                     "xgetbv\n\t"
                     "mov %%eax, %0\n\t"
                     "mov $2, %%eax\n\t"
                     "xor %%edx, %%edx\n\t"
                     "xsave64 %2"
                     : "=&r"(in_use) : "m"(*unused), "m"(*image) : "rax", "rcx", "rdx", "memory", "xmm0", "xmm1", "xmm2", "xmm3",
                       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return (in_use & SSE) << 8 | (image[512] & SSE);
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint32_t told = look();
        for (int i = 0; i < TRIES && (told & SSE); i++)
            told = look();
        sum = mix(sum, told);
    }
    return report("unused", sum);
}
