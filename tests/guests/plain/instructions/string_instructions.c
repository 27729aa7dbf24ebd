// REP string instructions of all sizes, forwards and backwards, short and long, with and without an early end.
// rounds: 1 200
#include "guest.h"

static unsigned char a[300000], b[300000];

static void stos(void *to, unsigned char value, size_t n)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
}

static void movs(void *to, const void *from, size_t words)
{
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

static void movs_backwards(unsigned char *to, const unsigned char *from, size_t n)
{
    to += n - 1;
    from += n - 1;
    __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static size_t scas(const void *in, unsigned char value, size_t n)
{
    size_t left = n;
    __asm__ volatile("repne scasb" : "+D"(in), "+c"(left) : "a"(value) : "memory", "cc");
    return n - left;
}

static size_t cmps(const void *x, const void *y, size_t n)
{
    size_t left = n;
    __asm__ volatile("repe cmpsw" : "+D"(x), "+S"(y), "+c"(left) : : "memory", "cc");
    return n - left;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    long big = rounds(argc, argv) > 1 ? sizeof a : 3000; // single-stepped, each iteration is a stop
    for (long round = 0; round < rounds(argc, argv); round++) {
        stos(a, round, big);
        for (int i = 0; i < 2000; i += 7)
            a[i] = i ^ round;
        movs(b, a, big / 8);
        b[big / 2] ^= 1;
        sum = mix(sum, cmps(a, b, big / 2));
        movs_backwards(b + 5, b, big - 5);
        sum = mix(sum, scas(b, 255, big));
        for (int n = 0; n < 20; n++) {
            stos(b + n, n, n);
            sum = mix(sum, scas(b, 3, n));
            sum = mix(sum, cmps(a, b, n));
        }
        for (int i = 0; i < 3000; i += 3)
            sum = mix(sum, b[i]);
    }
    return report("strings", sum);
}
