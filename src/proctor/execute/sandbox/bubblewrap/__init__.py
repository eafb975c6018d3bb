"""The built-in backend: control groups, namespaces made by bubblewrap, a system call filter, and a server as pid 1."""
