// Megabytes through read and write in large pieces.
// rounds: 0 4
#include "guest.h"
#include <fcntl.h>

int main(int argc, char **argv)
{
    size_t size = 3 << 20;
    uint64_t *data = malloc(size), *back = malloc(size), sum = 0;
    int fd = open("big", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(data && back && fd >= 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (size_t i = 0; i < size / 8; i++)
            data[i] = mix(i, round);
        REQUIRE(pwrite(fd, data, size, 0) == (ssize_t)size);
        memset(back, 0, size);
        REQUIRE(pread(fd, back, size, 0) == (ssize_t)size);
        for (size_t i = 0; i < size / 8; i += 5)
            sum = mix(sum, back[i]);
    }
    return report("big", sum);
}
