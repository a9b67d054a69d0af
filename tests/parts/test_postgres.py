"""The cluster keeps the promises that crash and failover tests build on."""

import pytest

from tests.parts.postgres import PostgresCluster

pytestmark = pytest.mark.postgres


def test_a_database_is_fresh_and_separate(postgres_cluster: PostgresCluster, postgres_database: str) -> None:
    other = postgres_cluster.create_database()
    assert other != postgres_database
    name = postgres_database.rsplit("/", 1)[-1]
    postgres_cluster.execute("CREATE TABLE job (id int)", database=name)
    copy = postgres_cluster.create_database(template=name)
    assert postgres_cluster.execute("SELECT count(*) FROM job", database=copy.rsplit("/", 1)[-1]) == "0"
    for url in (other, copy):
        postgres_cluster.drop_database(url)


@pytest.mark.usefixtures("postgres_cluster")  # Skips where there is no PostgreSQL.
def test_a_commit_survives_a_crash_and_a_failover() -> None:
    with PostgresCluster() as primary:
        primary.execute("CREATE TABLE job (id int)")
        primary.execute("INSERT INTO job VALUES (1)")
        primary.crash()
        assert not primary.running
        primary.start()
        assert primary.execute("SELECT count(*) FROM job") == "1"

        standby = primary.standby(synchronous=True)
        primary.execute("INSERT INTO job VALUES (2)")
        assert standby.execute("SELECT count(*) FROM job") == "2"
        standby.wait_caught_up(primary)
        primary.crash()
        standby.promote()
        standby.execute("INSERT INTO job VALUES (3)")
        assert standby.execute("SELECT count(*) FROM job") == "3"
