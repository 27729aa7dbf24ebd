// Computes in functions with names of C++, of C and of an assembler.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

extern "C" long counted(void);
__asm__(".text\n.globl counted\n.type counted, @function\ncounted: mov $500, %ecx\n1: dec %ecx\njnz 1b\nret\n.size counted, . - counted");

namespace shapes {
struct Square {
    int side;
    __attribute__((noinline)) long area(int times) const;
};

long Square::area(int times) const {
    long sum = 0;
    for (int i = 0; i < times; i++)
        sum += (long)side * side ^ i;
    return sum;
}
} // namespace shapes

extern "C" __attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h, double x) {
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ (long)x;
}

static volatile long kept;

static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

int main(int argc, char **argv) {
    alarm(120);
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
        std::vector<int> numbers;
        for (int i = 0; i < 200; i++)
            numbers.push_back(i * 7919 % 1009);
        qsort(numbers.data(), numbers.size(), sizeof(int), descending);
        std::sort(numbers.begin(), numbers.end());
        counted();
        sum += shapes::Square{numbers[9]}.area(100);
        kept = many(1, 2, 3, 4, 5, 6, 7 * round, 8 * round, 0.5 * round);
        getppid();
    }
    printf("%ld\n", sum);
    return 0;
}
