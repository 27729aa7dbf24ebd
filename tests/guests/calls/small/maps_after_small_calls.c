// Reads /proc/self/maps between many small system calls: how much is in it doesn't depend on how those are recorded.
// rounds: 0 4
#include "guest.h"
#include <fcntl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        char text[4096];
        long lines = 0, got;
        int maps = open("/proc/self/maps", O_RDONLY);
        REQUIRE(maps >= 0);
        for (int i = 0; i < 500; i++)
            sum = mix(sum, syscall(SYS_getppid) > 0);
        while ((got = read(maps, text, sizeof text)) > 0)
            for (long i = 0; i < got; i++)
                lines += text[i] == '\n';
        REQUIRE(lines > 5 && close(maps) == 0);
        for (int i = 0; i < 500; i++)
            sum = mix(sum, syscall(SYS_getppid) > 0);
    }
    return report("maps", sum);
}
