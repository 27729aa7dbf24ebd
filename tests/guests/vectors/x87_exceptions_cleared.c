// Environments that lie on the stack at boundaries: exceptions are looked at and cleared all the time, as libraries for sound do.
// build default: -O1 -lm
// rounds: 2000 3000000
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double number;
static volatile int whole;
static unsigned sum;

__attribute__((noinline)) static void one(long i)
{
    number = i * 0.37;
    __asm__ volatile("fldl %1; fistpl %0" : "=m"(whole) : "m"(number));
    sum = sum * 31 + whole;
    if (fetestexcept(FE_INVALID)) {
        sum++;
        feclearexcept(FE_INVALID);
    }
    if (i % 16 == 0) {
        feclearexcept(FE_INVALID | FE_INEXACT);
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    for (long i = 0; i < rounds; i++) {
        one(i);
    }
    printf("%u\n", sum);
    return 0;
}
