// A file is opened for writing and changed after it was mapped: slices that map it later see the new contents where the
// program saw the old ones.
// rounds: 0 100
// refused sliced: was changed after the app had mapped it
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    uint64_t sum = 1, old[512] = {1};
    for (long round = 0; round < rounds(argc, argv); round++) {
        int writing = open("data", O_WRONLY | O_CREAT, 0600);
        REQUIRE(writing >= 0 && write(writing, old, sizeof old) == sizeof old && close(writing) == 0);
        int reading = open("data", O_RDONLY);
        volatile uint64_t *words = mmap(0, 4096, PROT_READ, MAP_PRIVATE, reading, 0);
        REQUIRE(words != MAP_FAILED);
        for (uint64_t i = words[0] % 1000; i > 0; i--)
            sum = mix(sum, i);
        old[0] = sum;
        REQUIRE(munmap((void *)words, 4096) == 0 && close(reading) == 0);
    }
    return report("changed", sum);
}
