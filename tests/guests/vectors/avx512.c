// AVX-512: 32 registers, masks, and both live across system calls.
// build avx512: -O3 -mavx512f -mavx512bw -mavx512vl -mavx512dq
// needs: avx512f avx512bw avx512vl avx512dq
// rounds: 5 400000
#include "guest.h"
#include <immintrin.h>

int main(int argc, char **argv)
{
    __m512i v = _mm512_set1_epi64(0x123456789), w[24];
    for (int i = 0; i < 24; i++)
        w[i] = _mm512_set1_epi64(i * 1001);
    __mmask8 mask = 0x5a;
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 24; i++) {
            w[i] = _mm512_mask_add_epi64(w[i], mask, w[i], v);
            v = _mm512_rol_epi64(_mm512_xor_si512(v, w[i]), 9);
            mask = _mm512_cmplt_epu64_mask(v, w[(i + 5) % 24]);
        }
        if (round % 1000 == 0)
            (void)getppid();
    }
    uint64_t words[8], sum = mask;
    for (int i = 0; i < 24; i++) {
        memcpy(words, &w[i], 64);
        for (int j = 0; j < 8; j++)
            sum = mix(sum, words[j]);
    }
    return report("avx512", sum);
}
