// Another thread than the first executes a program: that ends all others, and becomes the process.
// build plain: -O1 -pthread
// rounds: 0 1
// totals: vary
#include "guest.h"
#include <pthread.h>

static void *executes(void *name)
{
    usleep(1000);
    execl("/bin/sh", "sh", "-c", "echo $0; exit 5", name, (char *)0);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    REQUIRE(rounds(argc, argv) == 1 && pthread_create(&thread, 0, executes, "another") == 0);
    for (volatile uint64_t sum = 0;; sum = mix(sum, 1)) {}
}
