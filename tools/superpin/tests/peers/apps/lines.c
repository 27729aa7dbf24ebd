// Lines that are executed often, once and never; one of them in a loop whose length depends on an argument.
#include <stdio.h>
#include <stdlib.h>

static int collatz(int n)
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

static int never(int n)
{
    return n + 1;
}

static int twice(int n)
{
    return 2 * n;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int sum = 0;
    for (int i = 1; i <= rounds; i++) {
        for (int j = 1; j <= i; j++)
            sum += collatz(j);
        sum -= twice(i);
        switch (i % 3) {
        case 0:
            sum += 5;
            break;
        case 1:
            sum ^= 1;
            break;
        default:
            sum--;
        }
    }
    if (sum == 12345678)
        sum = never(sum);
    printf("%d\n", sum);
    return 0;
}
