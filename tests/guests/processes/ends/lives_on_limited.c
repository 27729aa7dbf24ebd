// Limits that a program has set for itself and that it finds again behind a read in which superpin may have let it go.
// rounds: 0 1
// build plain: -O1
#include "bubble.h"
#include <sys/resource.h>

#define KINDS 3
static const int kinds[KINDS] = {RLIMIT_NOFILE, RLIMIT_DATA, RLIMIT_AS};
static const struct rlimit own[KINDS] = {{100, 200}, {1L << 33, 1L << 34}, {1L << 40, 1L << 41}};

int main(int argc, char **argv)
{
    char byte;
    for (int i = 0; i < KINDS; i++)
        REQUIRE(setrlimit(kinds[i], &own[i]) == 0);
    if (argc > 2)
        fprintf(stderr, "ready %d\n", getpid());
    int given = read(0, &byte, 1);

    uint64_t sum = 0;
    for (long i = 0; i < 20000 * rounds(argc, argv); i++)
        sum = mix(sum, i);
    for (int i = 0; i < KINDS; i++) {
        struct rlimit now;
        REQUIRE(getrlimit(kinds[i], &now) == 0);
        printf("%d: %lu %lu\n", kinds[i], now.rlim_cur, now.rlim_max);
    }
    if (given == 1 && byte == '!')
        printf("left %d\n", bubble_lines());
    return report("work", sum);
}
