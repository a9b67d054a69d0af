"""What can go wrong in the control plane itself, each with a stable code, its cause and its fix."""


class ServerError(Exception):
    """The base: ``code`` never changes, ``fix`` tells what to do."""

    code = "server_error"
    fix = "See the server's log."


class KeyUnusable(ServerError):
    """The master key cannot be used: it is missing, malformed or of the wrong length."""

    code = "key_unusable"
    fix = (
        "Give every replica the same key: 32 random bytes in base64, in OSTLER_MASTER_KEY or the file of --key-file; "
        "make one with `openssl rand -base64 32`."
    )


class SealBroken(ServerError):
    """A sealed value does not open: it was altered, moved to another row, or sealed with another master key."""

    code = "seal_broken"
    fix = "Start the server with the master key that sealed the database; a restored dump needs the key of its time."


class PortInUse(ServerError):
    """Another program listens at the address."""

    code = "port_in_use"
    fix = "Stop the other program, or choose another port with --port."


class AddressUnusable(ServerError):
    """The address is none of this machine's, or this user may not listen there."""

    code = "address_unusable"
    fix = "Choose an address of this machine with --host (0.0.0.0 for all), and a port from 1024 with --port."


class DataDirectoryUnusable(ServerError):
    """The data directory cannot be made or written."""

    code = "data_directory_unusable"
    fix = "Choose a directory that this user may write, with --data."


class AlreadyRunning(ServerError):
    """Another server uses the same data directory."""

    code = "already_running"
    fix = "Stop the other one, or choose another directory with --data."


class SettingRefused(ServerError):
    """A setting has a value that cannot be used."""

    code = "setting_refused"
    fix = "Correct the setting that is named."
