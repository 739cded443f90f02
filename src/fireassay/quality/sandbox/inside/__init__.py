"""What runs inside of a sandbox?

    launcher    makes namespaces and a root of its own, unless bubblewrap did
      pid 1     drops privileges, waits, kills everything, reports status and processor time
        worker  lowers its limits, then runs untrusted code: answers calls, or makes them (`roles`)

No /proc is mounted.  The worker holds two pipes: questions and answers.  Life and status belong to pid 1: when the parent ends, however it
ends, the life pipe closes, pid 1 exits and the kernel kills whatever is left in its namespace.

The parent sends these modules compiled, through the pipe of questions, and they import little: an interpreter starts in 8 ms of processor time,
and `json`, `typing` and `signal` would add 20 ms to each.
"""
