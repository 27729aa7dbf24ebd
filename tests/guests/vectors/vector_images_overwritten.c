// Images by XSAVEC over old stack, of registers that hold zeros, partly overwritten and in live frames at boundaries: as under programs that bind lazily.
// build plain: -O1 -mavx -mxsave -mxsavec
// needs: avx xsavec
// rounds: 30 20000
#include "guest.h"
#include <immintrin.h>
#include <unistd.h>

__attribute__((noinline)) static void fill(uint64_t seed)
{
    uint64_t old[1024];
    for (int i = 0; i < 1024; i++)
        old[i] = 0x7fff00000000 + seed * 1024 + i;
    __asm__ volatile("" : : "m"(old));
}

// Registers whose upper halves were loaded with zeros are in use or not, as the processor likes.
__attribute__((noinline)) static uint64_t store(uint64_t seed)
{
    _Alignas(64) unsigned char image[4096 + 2048];
    static const uint64_t zeros[4];
    __asm__ volatile("vmovdqu %0, %%ymm3" : : "m"(zeros) : "xmm3");
    memset(image + 512, 0, 64);
    _xsavec64(image, 0xee);
    __asm__ volatile("vzeroupper" : : : "memory");
    for (int i = 576; i < 576 + 256; i += 8) {
        uint32_t count = seed + i;
        memcpy(image + i + (seed & 4), &count, 4);
    }
    uint64_t sum = getppid() != 0;
    for (int i = 576; i < 576 + 256; i += 8) {
        uint32_t count;
        memcpy(&count, image + i + (seed & 4), 4);
        sum = mix(sum, count);
    }
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        fill(round);
        sum = mix(sum, store(round));
    }
    return report("images", sum);
}
