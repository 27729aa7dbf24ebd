// Branches whose counts depend on data: conditions, loops, calls, switches (by tests of bits, by a table, by comparisons). `many ways`: gcov's branches aren't the processor's.
#include <stdio.h>
#include <stdlib.h>

static unsigned seed = 1;

static unsigned next(void)
{
    seed = seed * 1103515245 + 12345;
    return seed >> 16 & 0x7fff;
}

static int collatz(unsigned n)
{
    int steps = 0;
    while (n != 1) {
        if (n % 2)
            n = 3 * n + 1;
        else
            n /= 2;
        steps++;
    }
    return steps;
}

static int is_vowel(int c)
{
    switch (c) { // many ways
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return 1;
    }
    return 0;
}

static int weight(unsigned n)
{
    switch (n % 11) { // many ways
    case 0:
        return 3;
    case 1:
        return 1;
    case 2:
        return 4;
    case 3:
        return 1;
    case 4:
        return 5;
    case 5:
        return 9;
    case 6:
        return 2;
    default:
        return 6;
    }
}

static int few(unsigned n)
{
    switch (n % 7) { // many ways
    case 1:
        n += 2;
        /* falls through */
    case 2:
        n += 3;
        break;
    case 5:
        return 1;
    default:
        n--;
    }
    return n & 1;
}

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int half(double a, double b)
{
    if (a == b) // many ways
        return 1;
    if (a < b)
        return 2;
    return 3;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int sum = 0;
    for (int i = 1; i <= rounds; i++) {
        unsigned n = next();
        sum += collatz(n % 97 + 1);
        if (n % 3 == 0 && next() % 5 < 2)
            sum++;
        if (n % 4 == 1 || next() % 7 < 3 || sum == 17)
            sum -= 2;
        sum += is_vowel('a' + n % 26) + weight(n) + few(n);
        do
            n /= 3;
        while (n > 5 && n != 40);
        if (n > 1000)
            continue;
        for (unsigned j = 0; j < n; j++)
            sum += j % 2 ? j : sum & 1;
        if (sum > 3000)
            sum -= fib(n % 12);
        int odd = sum & 1 && n & 2;
        sum += odd + half((int)(n % 3), sum % 3);
        if (rounds > 1000000)
            break;
    }
    if (sum == 123456789)
        for (int i = 0; i < rounds; i++)
            sum ^= i;
    printf("%d\n", sum);
    return 0;
}
