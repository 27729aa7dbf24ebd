// Many small system calls with little between them.
// rounds: 20 150
#include "guest.h"
#include <fcntl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    for (long round = 0; round < rounds(argc, argv); round++) {
        char byte = 1;
        sum = mix(sum, read(zero, &byte, 1) + byte);
        sum = mix(sum, write(null, &byte, 1));
        sum = mix(sum, syscall(SYS_getppid) > 0);
        sum = mix(sum, lseek(null, 0, SEEK_CUR) + close(-1));
    }
    return report("calls", sum);
}
