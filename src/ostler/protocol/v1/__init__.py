"""Version 1 of the protocol. It only ever grows: fields may be added with defaults, none may change or go."""
