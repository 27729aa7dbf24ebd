// Shows arguments, environment and the auxiliary vector's harmless part: all as natively.
// rounds: 1 1
#include "guest.h"
#include <sys/auxv.h>
#include <sys/resource.h>

extern char **environ;

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    for (char **e = environ; *e; e++)
        puts(*e);
    printf("secure %lu page %lu uid %lu descriptor limit", getauxval(AT_SECURE), getauxval(AT_PAGESZ), getauxval(AT_UID));
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    printf(" %lu\n", (unsigned long)limit.rlim_cur);
    return 0;
}
