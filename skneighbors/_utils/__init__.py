"""What every room may use, and what knows none of them.

device            which device a name stands for
threads, locks    one thread a batch of work; locks that survive a fork
interrupts        which interrupt from the keyboard ends a training, which the program
random            torch's global generators, borrowed and given back
blocks, memory    sizes of blocks that fit memory and caches; what to do when it runs out
checks            arguments whose bounds are known only when they are given
progress          what ``verbose=1`` shows
sklearn_private   what is private in scikit-learn, in one place
"""
