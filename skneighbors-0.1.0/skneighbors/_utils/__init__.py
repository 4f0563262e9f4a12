"""Helpers that every package may use, and that use none of them.

device            which device a name stands for
process           state of the process: locks, torch's threads, freed memory
threads           one thread a batch of work, and no more than allowed
random            torch's global generators, borrowed and given back
blocks            sizes of blocks that fit memory and caches
clock             the time that a fit may take
arrays            fields of dataclasses that hold arrays, and checks of these
parameters        parameters and arguments, checked by scikit-learn's constraints
checks            arguments whose bounds are known only when they are given
printing          what prints as a table
progress          what ``verbose=1`` shows
sklearn_private   what is private in scikit-learn, in one place
typing            types of annotations
warn              warnings that name the caller's line
"""
