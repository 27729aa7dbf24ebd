// SSE: packed and scalar floating point, integers, conversions, a rounding mode of its own.
// build sse2: -O2
// build sse42: -O2 -msse4.2
// rounds: 5 70000
#include "guest.h"
#include <emmintrin.h>

int main(int argc, char **argv)
{
    __m128d x = _mm_set_pd(1.5, 2.5);
    __m128i v = _mm_set1_epi32(12345);
    double scalar = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        _mm_setcsr((0x1f80 & ~0x6000) | (round & 3) << 13);
        for (int i = 0; i < 100; i++) {
            x = _mm_add_pd(_mm_mul_pd(x, _mm_set1_pd(0.99)), _mm_set1_pd(i));
            v = _mm_xor_si128(_mm_add_epi32(v, _mm_set1_epi32(i)), _mm_slli_epi32(v, 3));
            scalar = scalar / 1.01 + (float)i;
        }
    }
    uint64_t words[4];
    memcpy(words, &x, 16);
    memcpy(words + 2, &v, 16);
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum = mix(sum, words[i]);
    printf("%.12g\n", scalar);
    return report("sse", sum);
}
