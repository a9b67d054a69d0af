"""The passes after the first one: what the values of a file mean together.

Each module is one pass: a function ``check`` that takes a `Sheet` and yields findings. A pass looks at one concern,
does not depend on the others, and takes what has the wrong shape for missing, because the first pass has reported it.
An error is what GitHub refuses too or what cannot work; everything else is a warning, or a hint if it may be meant.
"""
