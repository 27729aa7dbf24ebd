// Double-precision work as compilers make it of plain loops: bodies that attract each other, a matrix product, an escape-time set.
// build O2: -O2 -lm
// build vector: -O3 -lm
// rounds: 1 2000

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 5, SIDE = 24 };

static double place[BODIES][3], speed[BODIES][3];
static const double mass[BODIES] = {39.5, 0.037, 0.011, 0.0017, 0.002};

static void attract(double step) {
    for (int i = 0; i < BODIES; i++)
        for (int j = i + 1; j < BODIES; j++) {
            double d[3], square = 0.01;
            for (int k = 0; k < 3; k++) {
                d[k] = place[i][k] - place[j][k];
                square += d[k] * d[k];
            }
            double pull = step / (square * sqrt(square));
            for (int k = 0; k < 3; k++) {
                speed[i][k] -= d[k] * mass[j] * pull;
                speed[j][k] += d[k] * mass[i] * pull;
            }
        }
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++)
            place[i][k] += step * speed[i][k];
}

static double product(void) {
    static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            a[i][j] = i + 0.5 * j;
            b[i][j] = c[j][i] * 1e-4 - i * j;
        }
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    return c[SIDE / 2][SIDE / 3];
}

static int escapes(double re, double im) {
    double x = 0, y = 0;
    for (int n = 0; n < 50; n++) {
        double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
        if (x * x + y * y > 4)
            return n;
    }
    return 50;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++) {
            place[i][k] = i * (k + 1.5) - k;
            speed[i][k] = 0.1 * (i - k);
        }
    double products = 0;
    long outside = 0;
    for (long r = 0; r < rounds; r++) {
        for (int n = 0; n < 20; n++)
            attract(0.001);
        products += product();
        for (int n = 0; n < 10; n++)
            outside += escapes(-2 + 0.24 * n, 0.01 * (r % 100));
    }
    printf("%.9g %.9g %.9g %ld\n", place[0][0], place[4][2], products, outside);
    return 0;
}
