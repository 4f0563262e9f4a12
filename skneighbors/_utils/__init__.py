"""What every room may use, and what knows none of them.

device            which device a name stands for
threads, locks    one thread a batch of work; locks that survive a fork
random            torch's global generators, borrowed and given back
blocks            sizes of blocks that fit memory and caches
progress          the bar of ``verbose=1``
sklearn_private   what is private in scikit-learn, in one place
"""
