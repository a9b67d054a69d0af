"""What forges and plain git servers tell: proven to come from them, then put in one form.

Each forge has a module with one function, which is given the headers, the raw body and the secret, and returns what
happened or why it is not believed. Nothing of a body is looked at before its signature is proven (threat 25), and
secrets are compared in constant time (threat 26). `hook` has the script for a server without a forge.
"""
