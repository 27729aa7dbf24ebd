// Thousands of calls by paths and on descriptors that come and go: files, folders, pipes, with good and bad arguments.
// rounds: 10 200
#define _GNU_SOURCE
#include "guest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static uint64_t text(uint64_t sum, const char *text, long len)
{
    for (long i = 0; i < len; i++)
        sum = mix(sum, text[i]);
    return sum;
}

// The entries of a folder, whatever their order.
static uint64_t entries(const char *path)
{
    char buffer[2000];
    uint64_t sum = 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(folder >= 0);
    for (long len; (len = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < len; at += ((struct dirent64 *)(buffer + at))->d_reclen) {
            const char *name = ((struct dirent64 *)(buffer + at))->d_name;
            sum += text(1, name, strlen(name));
        }
    REQUIRE(close(folder) == 0);
    return sum;
}

// A descriptor that was a file's becomes a pipe's.
static uint64_t as_pipe(int file, const char *text)
{
    int ends[2];
    char bytes[40];
    REQUIRE(read(file, bytes, 8) == -1 && errno == EBADF);
    REQUIRE(pipe(ends) == 0 && ends[0] == file);
    uint64_t sum = fcntl(ends[0], F_GETFD) + fcntl(ends[0], F_GETFL);
    REQUIRE(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0);
    for (int i = 0; i < 10; i++) {
        REQUIRE(write(ends[1], text, 30 + i) == 30 + i && read(ends[0], bytes, sizeof bytes) == 30 + i);
        sum = mix(sum, bytes[10 + i]);
    }
    REQUIRE(close(ends[0]) == 0 && close(ends[1]) == 0);
    return sum;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/superpin-paths-........", path[100], link[100], read_back[300], large[6000];
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++)
        *strchr(folder, '.') = 'a' + (getpid() >> 4 * i & 15);
    REQUIRE(mkdir(folder, 0700) == 0);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    // The last bytes of a page before which there is none.
    char *edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0);
    memset(edge, '/', 4096);
    strcpy(edge + 4090, "/tmp");
    snprintf(link, sizeof link, "%s/link", folder);
    REQUIRE(symlink("nowhere at all", link) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct stat status;
        struct statx all;
        snprintf(path, sizeof path, "%s/file%ld", folder, round % 7);
        for (int again = 0; again < 5; again++) {
            int file = open(path, O_RDWR | O_CREAT, 0600);
            REQUIRE(file >= 0 && fstat(file, &status) == 0 && fcntl(file, F_SETFD, FD_CLOEXEC) == 0);
            sum = mix(sum, status.st_size);
            REQUIRE(write(file, path, round % 30) == round % 30 && close(file) == 0);
            if (again == 0 && round % 4 == 0)
                sum = mix(sum, as_pipe(file, path));
            REQUIRE(stat(path, &status) == 0 && lstat(link, &status) == 0);
            sum = mix(sum, status.st_size);
            REQUIRE(statx(AT_FDCWD, path, 0, STATX_SIZE, &all) == 0);
            sum = mix(sum, all.stx_size);
            sum = mix(sum, readlink(link, read_back, 5 + again) + access(path, R_OK | W_OK));
            sum = text(sum, read_back, 5 + again);
            sum = mix(sum, stat("/nowhere/at/all", &status) + errno);
            sum = mix(sum, open("/nowhere", O_RDONLY) + errno);
        }
        if (round % 10 == 9) {
            sum = mix(sum, entries(folder));
            // Nobody can read these, or to their ends.
            sum = mix(sum, access((char *)8, R_OK) + errno);
            sum = mix(sum, syscall(SYS_access, 0, R_OK) + errno);
            sum = mix(sum, access((char *)0x8000000000000000, R_OK) + errno);
            sum = mix(sum, access(large, R_OK) + errno);
            sum = mix(sum, access(edge + 4090, R_OK));
            memset(edge + 4090, '/', 6);
            sum = mix(sum, access(edge + 4000, R_OK) + errno);
            strcpy(edge + 4090, "/tmp");
            // The result overwrites the path.
            strcpy(read_back, link);
            sum = mix(sum, syscall(SYS_readlink, read_back, read_back, sizeof read_back));
            sum = text(sum, read_back, 14);
            REQUIRE(unlink(path) == 0 && unlink(path) == -1);
            int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
            REQUIRE(read(maps, read_back, 100) == 100 && close(maps) == 0);
        }
    }
    for (int i = 0; i < 7; i++) {
        snprintf(path, sizeof path, "%s/file%d", folder, i);
        unlink(path);
    }
    REQUIRE(unlink(link) == 0 && rmdir(folder) == 0);
    return report("paths", sum);
}
