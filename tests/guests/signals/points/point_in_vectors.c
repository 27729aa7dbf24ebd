// Signals come in a loop whose state is in vector registers only, and handlers use these, too.
// build fast: -O2 -mavx2
// rounds: 0 8000000
// needs: avx2
// totals: vary
#include "points.h"
#include <immintrin.h>

static volatile double seen;

static void computes(int signal)
{
    tick(signal);
    __m256d one = _mm256_set1_pd(ticks);
    seen += _mm256_cvtsd_f64(_mm256_sqrt_pd(one));
}

int main(int argc, char **argv)
{
    handles(SIGALRM, SA_RESTART, computes);
    every(OFTEN);
    __m256i sum = _mm256_set1_epi64x(1), left = _mm256_set1_epi64x(rounds(argc, argv));
    const __m256i one = _mm256_set1_epi64x(1), factor = _mm256_set1_epi64x(0x9e3779b1);
    while (!_mm256_testz_si256(left, left)) {
        sum = _mm256_add_epi64(_mm256_mul_epu32(sum, factor), left);
        left = _mm256_sub_epi64(left, one);
    }
    every(0);
    return report("vectors", _mm256_extract_epi64(sum, 2));
}
