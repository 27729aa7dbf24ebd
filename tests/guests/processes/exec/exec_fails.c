// An exec that fails returns to the program.
// rounds: 1 5
#include "guest.h"
#include <errno.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = mix(sum, execl("/nonexistent/program", "program", (char *)0) + errno);
        sum = mix(sum, execl("/etc/passwd", "passwd", (char *)0) + errno);
    }
    return report("still here", sum);
}
