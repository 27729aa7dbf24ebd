// Calls through pointers to many functions, between system calls.
// rounds: 2 30
#include "guest.h"

#define FUNCTION(n) \
    static __attribute__((noinline)) uint64_t function##n(uint64_t x) { return (x ^ 0x##n) * (0x##n##1 + 2); }
#define EIGHT(do, n) do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7)
#define ALL(do) EIGHT(do, 1) EIGHT(do, 2) EIGHT(do, 3) EIGHT(do, 4) EIGHT(do, 5) EIGHT(do, 6) EIGHT(do, 7) EIGHT(do, 8) \
    EIGHT(do, 9) EIGHT(do, a) EIGHT(do, b) EIGHT(do, c) EIGHT(do, d) EIGHT(do, e) EIGHT(do, f) EIGHT(do, 10)
#define NAME(n) function##n,

ALL(FUNCTION)

int main(int argc, char **argv)
{
    static uint64_t (*const functions[])(uint64_t) = {ALL(NAME)};
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(getppid() > 0);
        for (int i = 0; i < 1024; i++)
            sum = functions[i % 128](sum);
    }
    return report("targets", sum);
}
