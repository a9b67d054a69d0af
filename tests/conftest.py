"""What every test may ask for."""

import os

from hypothesis import settings

pytest_plugins = ["tests.parts.fixtures"]

# How long one example takes says more about the machine than about the code. Where CI is set, Hypothesis also stops
# throwing dice by itself.
if not os.environ.get("CI"):
    settings.register_profile("unhurried", deadline=None)
    settings.load_profile("unhurried")
