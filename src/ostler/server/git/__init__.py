"""What the server reads of repositories, by the program ``git`` and by nothing else.

`sources` is the seam that the rest of the server knows; `repositories` implements it over `program`, which starts git
so that neither an address nor a repository can make it run anything, and over `addresses`, which decides where it may
connect to.
"""
