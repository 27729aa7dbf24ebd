// Executes itself with one more library: the same code at the same place calls the same functions at other places, through words that can't be written.
// build jumps: -O1 -fno-builtin -Wl,-z,relro,-z,now
// build calls: -O1 -fno-builtin -fno-plt -Wl,-z,relro,-z,now
// rounds: 1 200
#include "guest.h"
#include <ctype.h>

int main(int argc, char **argv)
{
    int stage = argc > 2 ? atoi(argv[2]) : 0;
    uint64_t sum = stage;
    char text[64];
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 100; i++) {
            sum = mix(sum, labs((long)sum) + toupper(i) + abs(i - 50));
            memset(text, 'a' + i % 20, sizeof text);
            text[sum % sizeof text] = 0;
            sum = mix(sum, strlen(text));
        }
        usleep(0);
    }
    report("stage", mix(sum, stage));
    if (stage == 3)
        return 0;
    REQUIRE(fflush(stdout) == 0 && setenv("LD_PRELOAD", stage % 2 ? "" : "libm.so.6", 1) == 0);
    char next[] = {'1' + stage, 0};
    char *arguments[] = {argv[0], argc > 1 ? argv[1] : "1", next, 0};
    execv("/proc/self/exe", arguments);
    return 1;
}
