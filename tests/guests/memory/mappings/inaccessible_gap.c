// What ThreadSanitizer does at a program's start: makes the whole gap between its shadow and the lowest places of programs inaccessible. It shows in
// /proc/self/maps as any mapping of the program's own. Where superpin is that list has more lines than where a process is single-stepped.
// rounds: 0 3
#include "guest.h"
#include <sys/mman.h>

#define FROM 0x340000000000
#define TO 0x550000000000

static uint64_t ends_there(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start, end;
    uint64_t found = 0;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2)
            found += start == FROM && end == TO;
    fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    uint64_t found = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
        REQUIRE(mmap((void *)FROM, TO - FROM, PROT_NONE, flags, -1, 0) == (void *)FROM);
        found += ends_there();
    }
    return report("found", found);
}
