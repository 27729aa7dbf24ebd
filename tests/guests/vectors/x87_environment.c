// Stored environments of the x87 unit name its last instruction: by fnstenv, feholdexcept and as part of larger images.
// Addresses are computed with in the first rounds only: AMD's processors forget them when the kernel gives them to somebody else.
// build default: -O1 -lm
// rounds: 300 20000
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct environment {
    unsigned words[7];
};

static volatile long double value = 1.5L;
static unsigned char image[4096] __attribute__((aligned(64)));

static unsigned long mix(unsigned long sum, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        sum = sum * 31 + ((const unsigned char *)bytes)[i];
    }
    return sum;
}

int main(int argc, char **argv) {
    long rounds = atol(argv[1]);
    unsigned long sum = 0;
    for (long i = 0; i < rounds; i++) {
        struct environment e;
        long double x = value;
        if (i % 3 == 0) {
            __asm__ volatile("fldt %1; fldt %1; faddp; fstpt %1; fnstenv %0" : "=m"(e), "+m"(x));
        } else {
            __asm__ volatile("fldt %1; fmul %%st(0); fstpt %1; fnstenv %0" : "=m"(e), "+m"(x));
        }
        __asm__ volatile("fldenv %0" ::"m"(e));
        if (i < 30) {
            sum = mix(sum, &e.words[3], 4);
        }
        fenv_t held;
        feholdexcept(&held);
        value = x > 100 ? 1.5L : x + 0.25L;
        fesetenv(&held);
        if (i % 8 == 0) {
            // The address in an image: 8 bytes at offset 8.
            __asm__ volatile("fldt %1; fxsave64 %0; fstp %%st(0)" : "=m"(image) : "m"(x));
            sum = mix(sum, image + 8, 8);
            unsigned low = 1, high = 0;
            __asm__ volatile("fldt %1; xsave64 %0; fstp %%st(0)" : "=m"(image) : "m"(x), "a"(low), "d"(high));
            sum = mix(sum, image + 8, 8);
        }
    }
    // Addresses of the program differ from run to run unless they are not randomised: only whether they lie in it is printed.
    unsigned long pc;
    memcpy(&pc, image + 8, 8);
    printf("%d\n", pc >= (unsigned long)main && pc < (unsigned long)main + 4096);
    if (argc > 2) {
        printf("%lx\n", sum);
    }
    return (int)(sum == 1);
}
