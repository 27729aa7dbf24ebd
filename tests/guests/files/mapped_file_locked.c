// Locks a file that it maps, by `flock` and by a lock of the open file: the lock is gone when the last of descriptor and mapping is.
// rounds: 0 2
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

static const size_t size = 64 << 10;

static int locks(int descriptor, int by_file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return by_file ? fcntl(descriptor, F_OFD_SETLK, &whole) == 0 : flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/superpin-locked-........";
    // Each process id is as long as another, so that totals repeat.
    for (int i = 0; i < 8; i++)
        *strchr(path, '.') = 'a' + (getpid() >> 4 * i & 15);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    uint64_t sum = 1;
    REQUIRE(file >= 0 && ftruncate(file, size) == 0);
    for (size_t at = 0; at < size; at += 8) {
        sum = mix(sum, at);
        REQUIRE(pwrite(file, &sum, 8, at) == 8);
    }
    REQUIRE(close(file) == 0);
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int way = 0; way < 4; way++) {
            // Only what is open for writing can be locked for writing by `fcntl`; slices get private and shared mappings in different ways.
            int by_file = way & 1, kind = way & 2 ? MAP_SHARED : MAP_PRIVATE;
            int locked = open(path, by_file ? O_RDWR : O_RDONLY), other = open(path, O_RDWR);
            REQUIRE(locked >= 0 && other >= 0);
            if (way == 0) {
                // Mapped first, while nobody can write the file.
                REQUIRE(close(other) == 0);
                other = -1;
            }
            uint64_t *map = mmap(0, size, PROT_READ, kind, locked, 0);
            REQUIRE(map != MAP_FAILED && locks(locked, by_file));
            if (other < 0)
                other = open(path, O_RDWR);
            REQUIRE(close(locked) == 0);
            // The mapping alone holds it now, across what begins slices.
            for (int turn = 0; turn < 20; turn++) {
                for (size_t i = 0; i < size / 8; i++)
                    sum = mix(sum, map[i]);
                REQUIRE(getppid() > 0);
            }
            REQUIRE(!locks(other, by_file));
            REQUIRE(munmap(map, size) == 0);
            REQUIRE(locks(other, by_file));
            REQUIRE(close(other) == 0);
        }
    REQUIRE(unlink(path) == 0);
    return report("locked", sum);
}
