"""Programs are run one at a time: NumPyro keeps its handlers on one stack for the whole process.

Two threads that run programs at once would meet each other's sites. Only running a program, which
JAX does once for every shape to compile it, takes its turn; compiled code runs side by side.
"""

import threading

ONE_PROGRAM = threading.RLock()
"""Held while a program runs under handlers; a program may run inside another."""
