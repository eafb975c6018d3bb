/* `merge FD`: put the pieces of a workspace together where a container engine can find them; `part DIR` undoes it.
 *
 * FD holds words: `lower DIR`, `upper DIR`, `work DIR`, `tree DIR`, `bind NAME PATH`, `removal PATH`, and last
 * `target DIR`. A small tmpfs covers DIR; in it the workspace appears at `root` and each bind at NAME: plain names,
 * whatever characters the sources have, and no path of the host where the tmpfs itself is shown. Sources are opened first
 * and mounted through their descriptors, as in stage.c. The mounts are made in the namespace of the caller, who must be
 * root, because the engine has to see them.
 *
 * `part` detaches the tmpfs with all that is mounted in it, then removes the empty DIR: nothing below is ever looked at.
 */
#include "modes.h"

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
    if (!pieces.target || mount("tmpfs", pieces.target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=8m") < 0 ||
        chdir(pieces.target) < 0)
        die_errno("cannot make the place of the workspace");
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

int part_mode(int argc, char **argv)
{
    if (argc != 1)
        die("part wants one directory");
    while (umount2(argv[0], MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
    if (rmdir(argv[0]) < 0 && errno != ENOENT)
        die_errno("cannot take down %s", argv[0]);
    return 0;
}
