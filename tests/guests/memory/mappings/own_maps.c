// Finds its own code, heap and stack by /proc/self/maps.
// rounds: 0 3
#include "guest.h"

static volatile uint64_t cell = 1;

int main(int argc, char **argv)
{
    uint64_t found = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        FILE *maps = fopen("/proc/self/maps", "r");
        char line[512];
        uintptr_t wanted[] = {(uintptr_t)main, (uintptr_t)&maps, (uintptr_t)&cell};
        unsigned long start, end;
        while (fgets(line, sizeof line, maps))
            if (sscanf(line, "%lx-%lx", &start, &end) == 2)
                for (int i = 0; i < 3; i++)
                    found += wanted[i] >= start && wanted[i] < end;
        fclose(maps);
    }
    return report("found", found);
}
