// System calls and ioctls that no table knows: the kernel's error must come back.
// rounds: 2 5
#include "guest.h"
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = mix(sum, syscall(5000 + round, 1, 2, 3));
        sum = mix(sum, errno);
        sum = mix(sum, ioctl(1, 0x1234abcd + round, &sum));
        sum = mix(sum, errno);
        sum = mix(sum, syscall(-1));
        sum = mix(sum, errno);
    }
    return report("unknown", sum);
}
