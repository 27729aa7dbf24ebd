// A child inherits a gap that its parent has made inaccessible, as ThreadSanitizer does; it is one mapping in the child's /proc/self/maps, too.
// rounds: 0 2
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

#define FROM 0x340000000000
#define TO 0x550000000000

static int ends_there(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start, end;
    int found = 0;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2)
            found += start == FROM && end == TO;
    fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    uint64_t found = 0;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    REQUIRE(mmap((void *)FROM, TO - FROM, PROT_NONE, flags, -1, 0) == (void *)FROM);
    for (long round = 0; round < rounds(argc, argv); round++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(ends_there());
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
        found += WEXITSTATUS(status);
    }
    return report("found", found);
}
