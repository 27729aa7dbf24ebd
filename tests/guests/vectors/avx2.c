// AVX and AVX2: the upper halves of the registers live across calls, loops and system calls.
// build avx2: -O3 -mavx2 -mfma
// needs: avx2 fma
// rounds: 5 300000
#include "guest.h"
#include <immintrin.h>

int main(int argc, char **argv)
{
    __m256i v = _mm256_set_epi64x(1, 2, 3, 4);
    __m256d d = _mm256_set1_pd(0.5);
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 40; i++) {
            v = _mm256_xor_si256(_mm256_add_epi64(v, _mm256_set1_epi64x(i)), _mm256_slli_epi64(v, 7));
            v = _mm256_permute4x64_epi64(v, 0x93);
            d = _mm256_fmadd_pd(d, _mm256_set1_pd(0.75), _mm256_set1_pd(i));
        }
        if (round % 1000 == 0)
            (void)getppid();
    }
    uint64_t words[8], sum = 0;
    memcpy(words, &v, 32);
    memcpy(words + 4, &d, 32);
    for (int i = 0; i < 8; i++)
        sum = mix(sum, words[i]);
    return report("avx2", sum);
}
