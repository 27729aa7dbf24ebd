// Execs a script whose first line names its interpreter.
// totals: vary
// (the shell formats its parent's process id, whose number of digits varies)
// rounds: 0 1
#include "guest.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
    int fd = open("script", O_WRONLY | O_CREAT | O_TRUNC, 0755);
    const char text[] = "#!/bin/sh -e\ni=0\nwhile [ $i -lt 200 ]; do i=$((i + 1)); done\necho \"$i $1\"\nexit 6\n";
    REQUIRE(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1 && fchmod(fd, 0755) == 0);
    close(fd);
    puts("before");
    fflush(stdout);
    execl("./script", "script", "argument", (char *)0);
    return 99;
}
