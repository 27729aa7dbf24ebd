// Calls through a table of pointers, in an order that no prediction holds.
// rounds: 10 20000
#include "guest.h"

#define F(n) static uint64_t f##n(uint64_t x) { return mix(x, n * 77 + 1); }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
static uint64_t (*const functions[])(uint64_t) = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15};

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int i = 0; i < 200; i++)
            sum = functions[sum % 16](sum);
    return report("calls", sum);
}
