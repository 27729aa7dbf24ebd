// A process writes to its own copy of a file's code, which it has executed, after the file was opened for writing.
// kept: by chance
// rounds: 1 12
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096 };

// mov eax, value; ret
static void function(unsigned char *code, unsigned value)
{
    const unsigned char bytes[] = {0xb8, value, 0, 0, 0, 0xc3};
    memcpy(code, bytes, sizeof bytes);
}

int main(int argc, char **argv)
{
    uint64_t sum = 1, times = rounds(argc, argv);
    for (uint64_t round = 0; round < times; round++) {
        unsigned char bytes[PAGE] = {0};
        function(bytes, 3);
        /* By a child: it is this process's first opening for writing that counts. */
        pid_t child = fork();
        if (child == 0) {
            int fd = open("code", O_WRONLY | O_CREAT, 0700);
            _exit(fd < 0 || write(fd, bytes, PAGE) != PAGE);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        int reading = open("code", O_RDONLY);
        unsigned char *code = mmap(0, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, reading, 0);
        REQUIRE(reading >= 0 && code != MAP_FAILED);
        unsigned (*call)(void) = (unsigned (*)(void))(void *)code;
        for (int n = 0; n < 100; n++)
            sum = mix(sum, call());
        int fd = open("code", O_WRONLY);
        REQUIRE(fd >= 0);
        function(code, 5);
        for (int n = 0; n < 100; n++)
            sum = mix(sum, call());
        REQUIRE(munmap(code, PAGE) == 0 && close(fd) == 0 && close(reading) == 0 && unlink("code") == 0);
    }
    return report("own", sum);
}
