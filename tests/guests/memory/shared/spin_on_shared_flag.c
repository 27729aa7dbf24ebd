// A loop waits for a flag in shared memory that another process sets.
// rounds: 0 1
// totals: vary
// options: -spgrace 300
// counted: by chance
// refused sliced: doesn't come to its end
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
    volatile int *flag = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(flag != MAP_FAILED);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        while (!flag[1])
            usleep(1000);
        usleep(3000);
        *flag = 1;
        _exit(0);
    }
    flag[1] = 1;
    while (!*flag)
        ;
    REQUIRE(waitpid(child, 0, 0) == child);
    return report("flag", *flag);
}
