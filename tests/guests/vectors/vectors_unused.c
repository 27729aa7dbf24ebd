// Vector registers that XRSTOR has taken out of use stay so while nothing uses them (XGETBV and XSAVE tell, on processors that keep count), and all floating-point exceptions
// are unmasked meanwhile.
// build plain: -O1 -mxsave
// needs: xgetbv1
// rounds: 200 3000
#include "guest.h"

static _Alignas(64) unsigned char unused[16384], image[16384];

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
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
        sum = mix(sum, (in_use & 2) + image[512]);
    }
    return report("unused", sum);
}
