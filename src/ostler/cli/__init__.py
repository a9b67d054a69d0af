"""The command line: one file per noun, each loaded only when its command is used, so that help is instant."""
