// More is read, in pieces, than a slice's log holds.
// rounds: 0 20
#include "guest.h"
#include <fcntl.h>

int main(int argc, char **argv)
{
    size_t size = 4 << 20, piece = 64 << 10;
    uint64_t *data = malloc(size), *back = malloc(piece), sum = 0;
    int fd = open("log", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(data && back && fd >= 0);
    for (size_t i = 0; i < size / 8; i++)
        data[i] = mix(i, size);
    REQUIRE(pwrite(fd, data, size, 0) == (ssize_t)size);
    for (long round = 0; round < rounds(argc, argv); round++) {
        for (size_t at = 0; at < size; at += piece) {
            // Not always as much, and not always to the same place.
            size_t len = piece - (at / piece + round) % 5 * 1001;
            REQUIRE(pread(fd, (char *)back + piece - len, len, at) == (ssize_t)len);
            sum = mix(sum, back[piece / 16] + back[piece / 8 - 1]);
        }
    }
    return report("read", sum);
}
