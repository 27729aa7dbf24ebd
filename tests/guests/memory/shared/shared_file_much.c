// A child and its parent have a file in memory of 2 MB mapped (shm_open), which has no name any more and which the parent has mapped a second time for reading, and tell each other
// through pipes that they have stored to a few pages of it. Before that the parent starts a program by posix_spawn.
// rounds: 3 30
#include "exchange.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    char name[64] = "/shared_file_much-";
    // As many instructions for each number.
    for (int i = 0; i < 8; i++)
        name[18 + i] = 'a' + (getpid() >> 4 * i & 15);
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    REQUIRE(file >= 0 && shm_unlink(name) == 0 && ftruncate(file, WORDS * 8) == 0);
    words = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    seen = mmap(0, WORDS * 8, PROT_READ, MAP_SHARED, file, 0);
    REQUIRE(words != MAP_FAILED && seen != MAP_FAILED && close(file) == 0);
    return report("mapped", exchange(rounds(argc, argv)));
}
