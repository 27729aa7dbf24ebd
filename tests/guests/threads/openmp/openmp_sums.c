// Pieces of different size, of which each of OpenMP's threads takes the next one, and a sum of all.
// build one: -O2 -fopenmp -DPOLICY="passive" -DTHREADS=1
// build passive: -O2 -fopenmp -DPOLICY="passive" -DTHREADS=2
// build active: -O2 -fopenmp -DPOLICY="active" -DTHREADS=2
// rounds: 0 20
// warned: at least by chance
// totals: vary
#include "openmp.h"

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = rounds(argc, argv); round > 0; round--) {
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 4) reduction(+ : sum)
        for (int piece = 0; piece < 600; piece++) {
            uint64_t own = round;
            for (int i = 0; i < piece; i++)
                own = mix(own, i);
            sum += own;
        }
    }
    report("sums", sum);
    return 0;
}
