"""The workflow language: what a file says, whether it is right, and which jobs it asks for.

Pure functions over values. `reader` makes a tree of nodes from a file and tells what is wrong with it as YAML.
`patterns` matches the names of branches, tags and files; `filters` decides with them whether an event starts a
workflow. `language` holds the language as data, `check` finds what is wrong in a file by it, and `builder` makes the
typed tree of `model` of a file that is right.
"""
