// A grid on which each point becomes the mean of its neighbours: OpenMP's threads wait for each other behind each sweep.
// build one: -O2 -fopenmp -DPOLICY="passive" -DTHREADS=1
// build passive: -O2 -fopenmp -DPOLICY="passive" -DTHREADS=2
// build active: -O2 -fopenmp -DPOLICY="active" -DTHREADS=2
// rounds: 0 20
// warned: at least by chance
// totals: vary
#include "openmp.h"

enum { SIDE = 512 };

static double grid[2][SIDE][SIDE];

int main(int argc, char **argv)
{
    long sweeps = rounds(argc, argv);
    for (int i = 0; i < SIDE; i++)
        grid[0][i][0] = grid[1][i][0] = i;
    for (long sweep = 0; sweep < sweeps; sweep++) {
        double (*from)[SIDE] = grid[sweep % 2], (*to)[SIDE] = grid[1 - sweep % 2];
#pragma omp parallel for num_threads(THREADS) schedule(static)
        for (int y = 1; y < SIDE - 1; y++)
            for (int x = 1; x < SIDE - 1; x++)
                to[y][x] = (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) / 4;
    }
    uint64_t sum = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            sum = mix(sum, (uint64_t)(grid[0][y][x] * 1e6));
    report("stencil", sum);
    return 0;
}
