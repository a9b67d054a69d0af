"""The surprises of the store; each message says the cause and the fix. Expected outcomes are ``Refused`` values."""


class StoreError(Exception):
    """Something is wrong with the database, not with the request."""

    code = "store_failed"


class DatabaseUnavailable(StoreError):
    """The database cannot be reached or does not take the transaction now. Surely nothing was committed."""

    code = "database_unavailable"


class DatabaseUncertain(StoreError):
    """The connection broke during the commit: it may or may not have happened. Repeat only what is idempotent."""

    code = "database_uncertain"


class DatabaseClosed(StoreError):
    """The program is shutting down and takes no more transactions."""

    code = "database_closed"


class DatabaseAddressMalformed(StoreError):
    """The address names no kind of database that Ostler knows."""

    code = "database_address_malformed"


class DatabaseNotWritable(StoreError):
    """The database or its folder does not take writes."""

    code = "database_not_writable"


class SchemaTooNew(StoreError):
    """A newer release of Ostler has changed the schema and this one cannot work with it."""

    code = "schema_too_new"
    fix = "Start that release, or restore a backup made before the upgrade."


class SchemaOutdated(StoreError):
    """The schema is older than this release and migrating was not asked for."""

    code = "schema_outdated"


class MigrationChanged(StoreError):
    """A migration on disk differs from the one that made this database."""

    code = "migration_changed"


class RowsMissed(StoreError):
    """A guarded update met fewer rows than it had locked: a mistake of the program. The transaction is undone."""

    code = "rows_missed"
