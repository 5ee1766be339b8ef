"""Child processes and Docker containers. Each ends with the process that made it, however that ends.

There is one mechanism: whoever made a child or a container holds the other end of its standard input, and nobody
else does. When its maker goes, killed outright or not, the kernel (or the Docker engine) closes that end, and the
child takes the end of its input for its own end.

errors.py        what goes wrong with them; it is nobody's but theirs
program.py       what is spoken to by lines, whichever of the two it is
child.py         children, and the watch on the parent that a child keeps
descendants.py   a child with everything that it started (needs psutil)
docker/          containers: made with labels, limits and a network of their own, found and reaped
event_loop.py    the event loop of a process that serves
malloc.py        its memory
"""
