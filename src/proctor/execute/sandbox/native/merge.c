/* `merge FD`: put the pieces of a workspace together where a container engine can find them; `part DIR` undoes it.
 *
 * FD holds words: `lower DIR`, `upper DIR`, `work DIR`, `tree DIR`, `bind NAME PATH`, `removal PATH`, and last
 * `target DIR`. The workspace appears at DIR/root and each bind at DIR/NAME: plain names, whatever characters the
 * sources have. Sources are opened first and mounted through their descriptors, as in stage.c. The mounts are made in
 * the namespace of the caller, who must be root, because the engine has to see them.
 *
 * `part` takes down whatever is mounted at the names in DIR, then the names and DIR. It never looks below a name, so
 * what is still mounted there for some reason is safe: the name then stays, and `part` says so.
 */
#include "modes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BINDS 256

struct pieces {
    struct overlay overlay;
    int tree;
    int sources[MAX_BINDS];
    const char *names[MAX_BINDS];
    int count;
    const char *target;
};

static char *needed(struct words *words)
{
    char *word = next_word(words);
    if (!word)
        die("the pieces end too early");
    return word;
}

static void open_pieces(struct words words, struct pieces *pieces)
{
    for (char *word; (word = next_word(&words));) {
        if (!strcmp(word, "lower")) {
            if (pieces->overlay.lower_count >= MAX_LOWERS)
                die("too many layers: at most %d", MAX_LOWERS);
            pieces->overlay.lowers[pieces->overlay.lower_count++] = open_source(needed(&words));
        } else if (!strcmp(word, "upper")) {
            pieces->overlay.upper = open_source(needed(&words));
        } else if (!strcmp(word, "work")) {
            pieces->overlay.work = open_source(needed(&words));
        } else if (!strcmp(word, "tree")) {
            pieces->tree = open_source(needed(&words));
        } else if (!strcmp(word, "bind")) {
            if (pieces->count >= MAX_BINDS)
                die("too many mounts: at most %d", MAX_BINDS);
            pieces->names[pieces->count] = needed(&words);
            pieces->sources[pieces->count++] = open_source(needed(&words));
        } else if (!strcmp(word, "removal")) {
            needed(&words);
        } else if (!strcmp(word, "target")) {
            pieces->target = needed(&words);
        } else {
            die("unknown word among the pieces: %s", word);
        }
    }
}

static void apply_removals(struct words words, int root)
{
    for (char *word; (word = next_word(&words)) && strcmp(word, "target");) {
        char *value = needed(&words);
        if (!strcmp(word, "bind"))
            needed(&words);
        else if (!strcmp(word, "removal"))
            remove_below(root, value);
    }
}

int merge_mode(int argc, char **argv)
{
    static struct pieces pieces = {.tree = -1};
    struct words words;
    if (argc != 1 || read_words(number(argv[0]), &words) < 0)
        die("merge wants one descriptor");
    open_pieces(words, &pieces);
    if (!pieces.target || chdir(pieces.target) < 0)
        die_errno("cannot enter the place of the workspace");
    if (pieces.tree >= 0)
        bind_on(pieces.tree, "root");
    else if (mkdir("root", 0755) < 0 || mount_overlay(&pieces.overlay, "root") < 0)
        die_errno("cannot mount the workspace");
    int root = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || faccessat(root, "workspace", F_OK, 0) < 0 || faccessat(root, "setup", F_OK, 0) < 0)
        die_errno("the workspace is not whole");
    apply_removals(words, root);
    for (int i = 0; i < pieces.count; i++)
        bind_on(pieces.sources[i], pieces.names[i]);
    return 0;
}

static int take_down(DIR *directory)
{
    int left = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        while (umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
            ;
        if (rmdir(name) < 0 && (errno != ENOTDIR || unlink(name) < 0))
            left++;
    }
    return left;
}

int part_mode(int argc, char **argv)
{
    if (argc != 1)
        die("part wants one directory");
    DIR *directory = opendir(argv[0]);
    if (!directory)
        return errno == ENOENT ? 0 : 1;
    if (fchdir(dirfd(directory)) < 0)
        die_errno("cannot enter %s", argv[0]);
    if (take_down(directory))
        die("something is still mounted in %s", argv[0]);
    closedir(directory);
    if (rmdir(argv[0]) < 0)
        die_errno("cannot remove %s", argv[0]);
    return 0;
}
