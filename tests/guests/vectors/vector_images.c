// Images of the vector registers made by XSAVE, XSAVEC and XSAVEOPT, restored after the registers were used otherwise.
// build plain: -O1 -mavx -mxsave -mxsavec -mxsaveopt
// needs: avx xsavec xsaveopt xgetbv1
// rounds: 20 30000
#include "guest.h"
#include <immintrin.h>

static _Alignas(64) unsigned char image[16384];

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint32_t inuse, high, words[8] = {round, 1, 2, 3, 4, 5, 6, sum};
        __asm__ volatile("xgetbv" : "=a"(inuse), "=d"(high) : "c"(1)); // varies from run to run
        __asm__ volatile("vmovdqu %0, %%ymm7" : : "m"(words) : "xmm7");
        memset(image + 512, 0, 64);
        switch (round % 3) {
        case 0: _xsave64(image, 7); break;
        case 1: _xsavec64(image, 7); break;
        case 2: _xsaveopt64(image, 7); break;
        }
        __asm__ volatile("vzeroall" : : : "xmm7");
        for (int i = 0; i < 20; i++)
            sum = mix(sum, i);
        _xrstor64(image, 7);
        __asm__ volatile("vmovdqu %%ymm7, %0\n\tvzeroupper" : "=m"(words) : : "xmm7");
        sum = mix(sum, words[0] + words[7]);
    }
    return report("images", sum);
}
