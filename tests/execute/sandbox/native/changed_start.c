/* Starts a program under the name of another one.
 *
 *     changed_start MODE CLAIMED REAL [CLAIMED-ARGUMENT REAL-ARGUMENT]
 *
 * Path and argument of the start are in memory that a second process shares. That one waits at a write to the workspace,
 * which the test holds until the guard has recorded the start; it puts the real path and argument in their place, and
 * says so by an attempt. MODE is how the program is started; with `again` it has the arguments of this one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *path, *argument, *mode, **own;

static void start(void)
{
    char *arguments[] = {"name", argument, NULL};
    if (!strcmp(mode, "execveat"))
        syscall(SYS_execveat, AT_FDCWD, path, arguments, environ, 0);
    else if (!strcmp(mode, "descriptor")) /* claimed is an empty path, which means the descriptor */
        syscall(SYS_execveat, open("/usr/bin/true", O_PATH), path, arguments, environ, AT_EMPTY_PATH);
    else
        execve(path, strcmp(mode, "again") ? arguments : own, environ);
    _exit(9);
}

static void *start_in_thread(void *unused)
{
    start();
    return unused;
}

static void change(const char *real_path, const char *real_argument)
{
    close(open("/workspace/gate", O_WRONLY | O_CREAT, 0600));
    strcpy(path, real_path);
    strcpy(argument, real_argument);
    close(open("/etc/changed", O_WRONLY | O_CREAT, 0600));
    _exit(0);
}

int main(int count, char **words)
{
    pthread_t thread;
    pid_t child;
    if (getenv("AGAIN"))
        return 0;
    own = words;
    mode = words[1];
    path = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    argument = path + 4096;
    strcpy(path, words[2]);
    strcpy(argument, count > 4 ? words[4] : "argument");
    if (!fork())
        change(words[3], count > 5 ? words[5] : argument);
    if (!strcmp(mode, "fixed") || !strcmp(mode, "again"))
        personality(ADDR_NO_RANDOMIZE);
    if (!strcmp(mode, "again"))
        setenv("AGAIN", "1", 1);
    if (!strcmp(mode, "vfork") && !(child = vfork()))
        start();
    else if (strcmp(mode, "vfork") && !(child = fork())) {
        if (!strcmp(mode, "thread") && pthread_create(&thread, NULL, start_in_thread, NULL) == 0)
            pthread_join(thread, NULL);
        start();
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
