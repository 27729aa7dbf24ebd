// Reads standard input to its end and reports what came.
// rounds: 1 1
#include "guest.h"

int main(void)
{
    uint64_t sum = 0;
    int c;
    while ((c = getchar()) != EOF)
        sum = mix(sum, c);
    return report("input", sum);
}
