"""The control plane as a whole, called as ASGI over real databases."""
