// Thousands of functions, so that a small code cache is filled many times over.
// build plain: -O1
// rounds: 1 1000
#include "guest.h"

#define F(n) static uint64_t __attribute__((noinline)) f##n(uint64_t x) \
    { if (x & (n % 61 + 1)) x = mix(x, n); else x += n * 3 + 1; while (x % (n % 7 + 2)) x++; return x ^ n; }
#define F10(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define F100(n) F10(n##0) F10(n##1) F10(n##2) F10(n##3) F10(n##4) F10(n##5) F10(n##6) F10(n##7) F10(n##8) F10(n##9)
#define C(n) x = f##n(x);
#define C10(n) C(n##0) C(n##1) C(n##2) C(n##3) C(n##4) C(n##5) C(n##6) C(n##7) C(n##8) C(n##9)
#define C100(n) C10(n##0) C10(n##1) C10(n##2) C10(n##3) C10(n##4) C10(n##5) C10(n##6) C10(n##7) C10(n##8) C10(n##9)
F100(1) F100(2) F100(3) F100(4) F100(5) F100(6) F100(7) F100(8) F100(9)
F100(10) F100(11) F100(12) F100(13) F100(14) F100(15) F100(16) F100(17) F100(18) F100(19)

int main(int argc, char **argv)
{
    uint64_t x = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        C100(1) C100(2) C100(3) C100(4) C100(5) C100(6) C100(7) C100(8) C100(9)
        C100(10) C100(11) C100(12) C100(13) C100(14) C100(15) C100(16) C100(17) C100(18) C100(19)
    }
    return report("large", x);
}
