// Execs itself with a changed argument until the count is down: one process, several images.
// build dynamic: -O1
// build static: -O1 -static
// rounds: 2 4
#include "guest.h"

int main(int argc, char **argv)
{
    long left = rounds(argc, argv);
    uint64_t sum = left;
    for (int i = 0; i < 300 * left * (left > 2 ? 100 : 1); i++)
        sum = mix(sum, i);
    report("image", sum);
    fflush(stdout);
    if (left == 0)
        return 17;
    char number[24];
    sprintf(number, "%ld", left - 1);
    char *arguments[] = {argv[0], number, 0};
    execv("/proc/self/exe", arguments);
    return 99;
}
