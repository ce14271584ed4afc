/* Records, in their order, all changes of files below the directory RECORDED, into the file RECORD (LD_PRELOAD).
 *
 * A line each: what, an inode, two numbers, one or two paths with a tab between; after a write's line, its bytes.
 *   C inode - - path    a file is made            M inode - - path   a directory is
 *   W inode offset n    n bytes are written       T inode size -     a file is cut or grows
 *   S inode - -         it is flushed             U - - - path       a name is removed
 *   R - - - old new     a name is replaced        X - - - call       something that is not recorded
 * Paths are taken as they are given: a program has to use absolute ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096 };

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static int record = -1;
static char below[DESCRIPTORS]; /* descriptors that are of files below the directory */

__attribute__((constructor)) static void begin(void) {
    root = getenv("RECORDED");
    root_length = root ? strlen(root) : 0;
    if (root)
        record = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_below(const char *path) {
    return record >= 0 && path && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int is_ours(int fd) { return record >= 0 && fd >= 0 && fd < DESCRIPTORS && below[fd]; }

static void put(const void *bytes, size_t length) {
    while (length) {
        long written = syscall(SYS_write, record, bytes, length);
        if (written < 0)
            abort();
        bytes = (const char *)bytes + written;
        length -= (size_t)written;
    }
}

static void note(char what, unsigned long inode, long long a, long long b, const char *path, const char *other) {
    char line[2 * PATH_MAX + 80];
    int length = snprintf(line, sizeof line, "%c %lu %lld %lld %s%s%s\n", what, inode, a, b, path ? path : "",
                          other ? "\t" : "", other ? other : "");
    put(line, (size_t)length);
}

static unsigned long inode_of(int fd) {
    struct stat about;
    return fstat(fd, &about) ? 0 : about.st_ino;
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
    int ours = is_below(path), saved;
    if (!ours)
        return (int)syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&one_at_a_time);
    int was_there = !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
    int fd = (int)syscall(SYS_openat, directory, path, flags, mode);
    saved = errno;
    if (fd >= 0 && fd < DESCRIPTORS) {
        below[fd] = 1;
        if (!was_there)
            note('C', inode_of(fd), 0, 0, path, NULL);
        else if (flags & O_TRUNC)
            note('T', inode_of(fd), 0, 0, NULL, NULL);
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = saved;
    return fd;
}

#define MODE(flags, last)                                                                                              \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list more;                                                                                                  \
        va_start(more, last);                                                                                          \
        mode = va_arg(more, mode_t);                                                                                   \
        va_end(more);                                                                                                  \
    }
int open(const char *path, int flags, ...) {
    MODE(flags, flags)
    return opened(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags, flags)
    return opened(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE(flags, flags)
    return opened(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
    MODE(flags, flags)
    return opened(directory, path, flags, mode);
}

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS)
        below[fd] = 0;
    return (int)syscall(SYS_close, fd);
}

/* A write at `offset`, or, if that is negative, where the descriptor is; the pieces are one write. */
static ssize_t written(int fd, const struct iovec *pieces, int number, off_t offset) {
    struct stat about;
    pthread_mutex_lock(&one_at_a_time);
    off_t at = offset >= 0                          ? offset
               : fcntl(fd, F_GETFL) & O_APPEND      ? (fstat(fd, &about), about.st_size)
                                                    : lseek(fd, 0, SEEK_CUR);
    ssize_t done = offset >= 0 ? syscall(SYS_pwritev, fd, pieces, number, offset, 0) : syscall(SYS_writev, fd, pieces, number);
    int saved = errno;
    if (done > 0) {
        note('W', inode_of(fd), at, done, NULL, NULL);
        size_t left = (size_t)done;
        for (int piece = 0; left; piece++) {
            size_t length = pieces[piece].iov_len < left ? pieces[piece].iov_len : left;
            put(pieces[piece].iov_base, length);
            left -= length;
        }
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = saved;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    struct iovec piece = {(void *)bytes, length};
    return is_ours(fd) ? written(fd, &piece, 1, -1) : syscall(SYS_write, fd, bytes, length);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    struct iovec piece = {(void *)bytes, length};
    return is_ours(fd) ? written(fd, &piece, 1, offset) : syscall(SYS_pwrite64, fd, bytes, length, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return pwrite(fd, bytes, length, offset); }
ssize_t writev(int fd, const struct iovec *pieces, int number) {
    return is_ours(fd) ? written(fd, pieces, number, -1) : syscall(SYS_writev, fd, pieces, number);
}

/* What is done by `call`, and noted where that succeeds. */
#define NOTED(ours, call, ...)                                                                                         \
    if (!(ours))                                                                                                       \
        return (int)(call);                                                                                            \
    pthread_mutex_lock(&one_at_a_time);                                                                                \
    int done = (int)(call), saved = errno;                                                                             \
    if (!done)                                                                                                         \
        note(__VA_ARGS__);                                                                                             \
    pthread_mutex_unlock(&one_at_a_time);                                                                              \
    errno = saved;                                                                                                     \
    return done

int ftruncate(int fd, off_t size) {
    NOTED(is_ours(fd), syscall(SYS_ftruncate, fd, size), 'T', inode_of(fd), size, 0, NULL, NULL);
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }
int fsync(int fd) { NOTED(is_ours(fd), syscall(SYS_fsync, fd), 'S', inode_of(fd), 0, 0, NULL, NULL); }
int fdatasync(int fd) { NOTED(is_ours(fd), syscall(SYS_fdatasync, fd), 'S', inode_of(fd), 0, 0, NULL, NULL); }
int rename(const char *old, const char *new) {
    NOTED(is_below(old) || is_below(new), syscall(SYS_rename, old, new), 'R', 0, 0, 0, old, new);
}
int unlink(const char *path) { NOTED(is_below(path), syscall(SYS_unlink, path), 'U', 0, 0, 0, path, NULL); }
int mkdir(const char *path, mode_t mode) {
    struct stat about;
    NOTED(is_below(path), syscall(SYS_mkdir, path, mode), 'M', stat(path, &about) ? 0 : about.st_ino, 0, 0, path, NULL);
}

/* What no writer of a result does. A record that has one of these is not whole. */
int rmdir(const char *path) { NOTED(is_below(path), syscall(SYS_rmdir, path), 'X', 0, 0, 0, "rmdir", NULL); }
int link(const char *old, const char *new) { NOTED(is_below(new), syscall(SYS_link, old, new), 'X', 0, 0, 0, "link", NULL); }
int symlink(const char *to, const char *path) {
    NOTED(is_below(path), syscall(SYS_symlink, to, path), 'X', 0, 0, 0, "symlink", NULL);
}
int truncate(const char *path, off_t size) {
    NOTED(is_below(path), syscall(SYS_truncate, path, size), 'X', 0, 0, 0, "truncate", NULL);
}
