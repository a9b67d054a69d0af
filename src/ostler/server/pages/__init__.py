"""The web pages: what they show (views), how it becomes HTML (rendering), and who asks for it (routes)."""
