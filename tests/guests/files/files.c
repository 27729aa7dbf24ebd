// Files written, read at offsets, renamed, linked, listed and removed; standard and vectored calls.
// rounds: 1 10
#define _GNU_SOURCE
#include "guest.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        char name[32];
        sprintf(name, "file%ld", round % 4);
        FILE *f = fopen(name, "w+");
        REQUIRE(f);
        for (int i = 0; i < 300; i++)
            fprintf(f, "line %d of %ld\n", i, round);
        rewind(f);
        char line[64];
        while (fgets(line, sizeof line, f))
            sum = mix(sum, strlen(line) + line[5]);
        fclose(f);
        int fd = open(name, O_RDWR | O_APPEND);
        char x[16], y[32];
        struct iovec in[] = {{x, sizeof x}, {y, sizeof y}}, out[] = {{"one,", 4}, {"two\n", 4}};
        REQUIRE(readv(fd, in, 2) == 48 && writev(fd, out, 2) == 8);
        REQUIRE(pread(fd, y, 20, 100) == 20 && lseek(fd, -8, SEEK_END) > 0 && read(fd, x, 8) == 8);
        sum = mix(sum, x[0] + y[19] * 256);
        struct stat st;
        REQUIRE(fstat(fd, &st) == 0 && ftruncate(fd, st.st_size / 2) == 0 && fchmod(fd, 0640) == 0);
        sum = mix(sum, st.st_size);
        close(fd);
        REQUIRE(rename(name, "renamed") == 0 && symlink("renamed", "link") == 0);
        char target[32];
        ssize_t n = readlink("link", target, sizeof target);
        sum = mix(sum, n + target[3]);
        REQUIRE(stat("link", &st) == 0 && unlink("link") == 0 && mkdir("dir", 0755) == 0);
        sum = mix(sum, st.st_size);
        REQUIRE(access("nothing", F_OK) == -1 && rmdir("dir") == 0);
        DIR *dir = opendir(".");
        unsigned names = 0;
        for (struct dirent *entry; (entry = readdir(dir));)
            names += strlen(entry->d_name);
        closedir(dir);
        sum = mix(sum, names);
    }
    return report("files", sum);
}
