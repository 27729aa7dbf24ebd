// A child and its parent have a System V segment of 2 MB in common, which the parent has attached a second time for reading, and tell each other through pipes that they have stored
// to a few pages of it. Before that the parent starts a program by posix_spawn.
// rounds: 3 30
#include "../shared/exchange.h"
#include <sys/ipc.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
    int segment = shmget(IPC_PRIVATE, WORDS * 8, 0600);
    REQUIRE(segment >= 0);
    words = shmat(segment, 0, 0);
    seen = shmat(segment, 0, SHM_RDONLY);
    REQUIRE(shmctl(segment, IPC_RMID, 0) == 0 && words != (void *)-1 && seen != (void *)-1);
    return report("attached", exchange(rounds(argc, argv)));
}
