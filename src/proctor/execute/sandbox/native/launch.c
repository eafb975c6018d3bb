/* `launch FD`: from a plan to a sandbox.
 *
 * FD holds words: `cgroup DIR`, `thaw FILE VALUE`, `pressure FILE`, `lower DIR`, `upper DIR`, `work DIR`, `removal PATH`,
 * `tree DIR`, `bind NAME PATH`, `user UID GID`, `lifeline FD`, `keep FD`, and last `exec PROGRAM ARGUMENT...`.
 *
 * Two processes come of it: the guardian (guardian.c), and its child, which stages the file systems (stage.c), gives up
 * every privilege and becomes bwrap. When the harness is root the child ends up as UID and GID on the host; an ordinary
 * user stays who they are. Moving a process to a control group takes the kernel 10 ms, in which nothing on the machine
 * can fork. A thread that moves itself (version 1) and a process that is born in its group (version 2) cost nothing, so
 * the child does both. What is left over after that the guardian does beside the rest: pid 1 waits at a gate before it
 * does anything at all, and the guardian opens the gate when both it and bwrap are in.
 */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BINDS 256
#define MAX_KEPT 32 /* one more is ours */

struct plan {
    struct groups groups;
    const char *lowers[MAX_LOWERS], *upper, *work, *tree;
    int lower_count;
    const char *bind_names[MAX_BINDS], *bind_paths[MAX_BINDS];
    int bind_count;
    int kept[MAX_KEPT + 1], kept_count;
    int lifeline;
    long long uid, gid;
    struct words removals; /* rewound words in which removals are found again */
    char **program;
    char gate[32]; /* the last argument of the program: `gate=FD` */
};

static char *needed(struct words *words)
{
    char *word = next_word(words);
    if (!word)
        die("the plan ends too early");
    return word;
}

static void room(int count, int most, const char *what)
{
    if (count >= most)
        die("too many %s: at most %d", what, most);
}

/* The words that are left, and one more. */
static char **rest(struct words *words, char *last)
{
    size_t count = 0;
    for (struct words copy = *words; next_word(&copy);)
        count++;
    char **list = calloc(count + 2, sizeof *list);
    if (!list || !count)
        die("the plan names no program");
    for (size_t i = 0; i < count; i++)
        list[i] = next_word(words);
    list[count] = last;
    return list;
}

static void read_plan(int fd, struct plan *plan)
{
    struct words words;
    if (read_words(fd, &words) < 0)
        die_errno("cannot read the plan");
    plan->removals = words;
    plan->lifeline = -1;
    for (char *word; (word = next_word(&words));) {
        if (!strcmp(word, "cgroup")) {
            room(plan->groups.count, MAX_GROUPS, "control groups");
            plan->groups.directories[plan->groups.count++] = needed(&words);
        } else if (!strcmp(word, "thaw")) {
            plan->groups.thaw_file = needed(&words);
            plan->groups.thaw_value = needed(&words);
        } else if (!strcmp(word, "pressure")) {
            plan->groups.pressure_file = needed(&words);
        } else if (!strcmp(word, "lower")) {
            room(plan->lower_count, MAX_LOWERS, "layers");
            plan->lowers[plan->lower_count++] = needed(&words);
        } else if (!strcmp(word, "upper")) {
            plan->upper = needed(&words);
        } else if (!strcmp(word, "work")) {
            plan->work = needed(&words);
        } else if (!strcmp(word, "tree")) {
            plan->tree = needed(&words);
        } else if (!strcmp(word, "removal")) {
            needed(&words);
        } else if (!strcmp(word, "bind")) {
            room(plan->bind_count, MAX_BINDS, "mounts");
            plan->bind_names[plan->bind_count] = needed(&words);
            plan->bind_paths[plan->bind_count++] = needed(&words);
        } else if (!strcmp(word, "user")) {
            plan->uid = number(needed(&words));
            plan->gid = number(needed(&words));
        } else if (!strcmp(word, "lifeline")) {
            plan->lifeline = number(needed(&words));
        } else if (!strcmp(word, "keep")) {
            room(plan->kept_count, MAX_KEPT, "descriptors");
            plan->kept[plan->kept_count++] = number(needed(&words));
        } else if (!strcmp(word, "exec")) {
            plan->program = rest(&words, plan->gate);
            return;
        } else {
            die("unknown word in the plan: %s", word);
        }
    }
    die("the plan names no program");
}

static void apply_removals(struct words words, int root)
{
    for (char *word; (word = next_word(&words)) && strcmp(word, "exec");) {
        if (!strcmp(word, "removal"))
            remove_below(root, next_word(&words));
        else
            next_word(&words);
        if (!strcmp(word, "bind") || !strcmp(word, "thaw") || !strcmp(word, "user"))
            next_word(&words);
    }
}

static void stage_workspace(struct plan *plan, struct overlay *overlay, int tree)
{
    int root = tree;
    if (plan->upper) {
        if (mkdir("root", 0755) < 0 || mount_overlay(overlay, "root") < 0)
            die_errno("cannot mount the workspace");
        root = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (root < 0)
        die("the plan has no workspace");
    apply_removals(plan->removals, root);
    const char *parts[] = {"workspace", "setup"};
    for (int i = 0; i < 2; i++) {
        int fd = openat(root, parts[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            die_errno("the workspace has no directory %s", parts[i]);
        bind_on(fd, parts[i]);
        close(fd);
    }
}

static void stage_all(struct plan *plan)
{
    struct overlay overlay = {.lower_count = plan->lower_count};
    int sources[MAX_BINDS], tree = -1;
    private_mounts();
    for (int i = 0; i < plan->bind_count; i++)
        sources[i] = open_source(plan->bind_paths[i]);
    for (int i = 0; i < plan->lower_count; i++)
        overlay.lowers[i] = open_source(plan->lowers[i]);
    if (plan->upper) {
        overlay.upper = open_source(plan->upper);
        overlay.work = open_source(plan->work);
    }
    if (plan->tree)
        tree = open_source(plan->tree);
    make_stage();
    stage_workspace(plan, &overlay, tree);
    for (int i = 0; i < plan->bind_count; i++)
        bind_on(sources[i], plan->bind_names[i]);
}

static void drop_privileges(const struct plan *plan)
{
    if (geteuid() == 0) {
        if (plan->uid <= 0 || plan->gid <= 0)
            die("the plan names no unprivileged user");
        if (setgroups(0, NULL) < 0 || setresgid(plan->gid, plan->gid, plan->gid) < 0 ||
            setresuid(plan->uid, plan->uid, plan->uid) < 0)
            die_errno("cannot give up privileges");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        die_errno("cannot give up privileges");
}

/* Outliving the rest of the machine is not what a sandbox is for: under memory pressure it goes first. */
static void go_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "500", 3) < 0)
            errno = 0;
        close(fd);
    }
}

int launch_mode(int argc, char **argv)
{
    static struct plan plan;
    int gate[2], yes = 1;
    if (argc != 1)
        die("launch wants one descriptor");
    read_plan(number(argv[0]), &plan);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, gate) < 0 ||
        setsockopt(gate[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        die_errno("cannot prepare");
    snprintf(plan.gate, sizeof plan.gate, "gate=%d", gate[0]);
    pid_t guardian = getpid();
    pid_t child = fork_inside(&plan.groups);
    if (child < 0)
        die_errno("cannot fork");
    if (child > 0) {
        int kept[] = {plan.lifeline, gate[1]};
        keep_only(kept, 2);
        open_gate(child, gate[1], &plan.groups);
        dup2(0, 2); /* the harness reads messages until their end, which comes with bwrap's */
        return guard(child, plan.lifeline, &plan.groups);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != guardian)
        return 1;
    plan.kept[plan.kept_count++] = gate[0];
    keep_only(plan.kept, plan.kept_count);
    go_first();
    enter_by_oneself(&plan.groups);
    stage_all(&plan);
    drop_privileges(&plan);
    execv(plan.program[0], plan.program);
    die_errno("cannot run %s", plan.program[0]);
}
